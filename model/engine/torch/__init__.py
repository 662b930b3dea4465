"""The engine for any torch device: in-flight batching with beam search, by static shapes.

A reading order, from the outside in:

    engine        admits jobs, runs steps, returns finished jobs (`Engine`)
    explanations  attention, scores and traces of single sentences
    slots         which jobs fit, and which slots they occupy; the sizes of shapes
    batch         the sentences in flight that are searched alike, and a step of all of them
    history       on the host: chosen tokens, finished hypotheses, when a sentence is done
    state         on the device: hypotheses, keys and values, one slot per sentence
    encoder       encodes sentences and writes them into their slots
    decoder       one position of every hypothesis, to logits
    search        the best continuations, and those that survive
    constrained   searches with terms, by the reference, a token at a time beside the batches
    graphs        replays a step as one CUDA graph
    device        types, memory and transfers of each kind of device

A step is a fixed sequence of operations on tensors of fixed shapes. The host starts them and then
reads one small report: the best continuations of each sentence, a few numbers per hypothesis. It
does the bookkeeping from these reports, so the device never waits for the host during a step.

Nothing is copied when beams are reordered. All hypotheses of a sentence share one cache and write
positions t·K … t·K + K − 1 at step t; `State.ancestors`, the mask of the attention, marks the
positions of each hypothesis.
"""
