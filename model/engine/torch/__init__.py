"""The engine for any torch device: in-flight batching with beam search, by static shapes.

A reading order, from the outside in:

    engine         admits jobs, runs steps, hands out what is finished (`Engine`)
    batch          the sentences in flight that are searched alike, and a step of all of them
    ledger         on the host: what was chosen, what is finished, when a sentence is done
    state          on the device: hypotheses, keys and values, one slot per sentence
    newcomers      encodes sentences and writes them into their slots
    rows           which hypotheses a step computes
    decoder        one position of every hypothesis, to logits
    search         the best continuations, and those that survive
    constrained    searches with terms, by the reference, a token at a time beside the batches
    graphs         replays a step as one CUDA graph, where there is one
    transfers      what crosses between host and device
    buckets        the sizes that shapes come in
    memory_short   errors that say that memory is short
    precision      the types that a device computes in

A step is a fixed sequence of operations on tensors of fixed shapes. The host starts them and then
reads one small report: the best continuations of each sentence, a few numbers per hypothesis. From
these reports it keeps the books (what was said, what is finished, who is done), so the device never
waits for a question in the middle of a step.

Nothing is copied when beams are reordered. All hypotheses of a sentence write into one cache, at
step t the places t·K … t·K + K − 1, and `State.ancestors` says which places belong to which
hypothesis; attention takes it as its mask.
"""
