"""The CPU engine: the paper's arithmetic as kernels that numba compiles for the machine at hand.

A reading order, from the outside in:

    engine         admits jobs, runs steps, returns finished jobs (`Engine`)
    capacity       how many sentences it may have, and what each may need
    helper_thread  a second thread for its products while other engines are idle
    search         a step: gather, decode, predict, advance
    hypotheses     finished hypotheses, stable prefixes, when a sentence is done
    constrained    a step of sentences with terms, which are in `terms`
    processors     what a sentence's tokens must not be, and sampling
    explanations   attention, scores and traces of single sentences
    forward/       the Transformer over the sentences in flight: slots, encoder, decoder, output
    kernels/       matrix products and operations within a row, in LLVM's vector code, and `jit`

Nothing is copied when beams are reordered. A hypothesis is a *path*, the list of its positions; a
*position* in the arena holds one token's keys and values in every decoder layer; and positions come
in *pages* of 16, of which a slot takes one when a hypothesis needs a new one:

    slot 7: source [0 1 2 3 4]   "the cat is here </s>", whose keys and values are on page 0
            path 0 [16 17 18]    fed: <s> le chat        hypotheses with a common prefix
            path 1 [16 17 34]    fed: <s> le minou       share its positions
            page   [1 2]         where each of them writes

    arena   page 0             page 1              page 2              page 3
            |0 1 2 3 4 .......|16 17 18 .........|.. .. 34 .........|free, never written
             source of slot 7   written by lane 0    written by lane 1

When path 1 becomes the best, its list of integers replaces that of path 0; the pages do not change.
The rows of a step are the live hypotheses of all slots, concatenated, so that each matrix of the
model is read once for all of them.
"""
