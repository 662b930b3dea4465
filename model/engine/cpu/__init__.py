"""The CPU engine: the paper's arithmetic as kernels that numba compiles for the machine at hand.

A reading order, from the outside in:

    engine       admits jobs, runs steps, hands out what is finished (`Engine`)
    capacity     how many sentences there may be, and what each may come to hold
    partner      a second thread for its products while other engines have nothing to do
    search       a step: gather, decode, predict, advance
    constrained  `advance` for sentences with terms, which `terms` holds
    finish       finished hypotheses, and when a sentence is done
    forward/     the Transformer over the sentences in flight: slots, encoder, decoder, output
    kernels/     matrix products and what is done within a row, in LLVM's vector code, and `jit`

Nothing is copied when beams are reordered. A hypothesis is a *path*, the list of its positions; a
*position* is a place in the arena for one token's keys and values in every decoder layer; and
positions come in *pages* of 16, of which a slot takes one when a hypothesis needs a new one:

    slot 7: source [0 1 2 3 4]   "the cat is here </s>", whose keys and values lie on page 0
            path 0 [16 17 18]    fed: <s> le chat        hypotheses that share a beginning
            path 1 [16 17 34]    fed: <s> le minou       share its positions
            page   [1 2]         where each of them writes

    arena   page 0             page 1              page 2              page 3
            |0 1 2 3 4 .......|16 17 18 .........|.. .. 34 .........|free, never touched
             source of slot 7   written by lane 0    written by lane 1

When path 1 becomes the best, its list of integers takes the place of path 0's; what is on the pages
stays. The rows of a step are the living hypotheses of all slots, one behind the other, so that each
matrix of the model is read once for all of them.
"""
