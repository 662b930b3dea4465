"""Figure 1 of "Attention Is All You Need" (Vaswani et al. 2017), and nothing beyond the paper.

                                  output probabilities
                                           │
                                  ┌────────┴────────┐
                                  │ linear, softmax │  embedding     OutputProjection    §3.4
                                  └────────┬────────┘
                                           │           decoder       Decoder             §3.1
     encoder   Encoder  §3.1      ┌────────┴────────┐
                                  │   add & norm    │  sublayer      Sublayer            §3.1
       ┌─────────────────┐        │  feed forward   │  feed_forward  FeedForward         §3.3
       │   add & norm    │        ├─────────────────┤
       │  feed forward   │ memory │   add & norm    │
       ├─────────────────┤───────▶│   multi-head    │  attention     MultiHeadAttention  §3.2
       │   add & norm    │        │   attention     │
       │   multi-head    │        ├─────────────────┤
       │   attention     │        │   add & norm    │
       └────────┬────────┘ × N    │   masked multi- │  attention     MultiHeadAttention  §3.2
                │                 │ head attention  │
                │                 └────────┬────────┘ × N            LayerStack          §3.1
       positional encoding        positional encoding  embedding     PositionalEncoding  §3.5
         input embedding           output embedding    embedding     TokenEmbedding      §3.4
                │                          │
             inputs              outputs, shifted right

`transformer` assembles the figure, `config` has its sizes (table 3), `layer_stack` the N layers,
`positions` the table of §3.5, `parameter_names` the names of all weights. Bottom-up reading order:
`config`, `attention`, `feed_forward`, `embedding`, `sublayer`, `encoder`, `decoder`, `transformer`.
Imports only `model.errors` from the project; decoding, engines, checkpoints and training use it.
"""
