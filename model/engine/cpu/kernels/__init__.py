"""Kernels that know nothing of a Transformer: matrix products and operations within a row.

Reading order: `linear` multiplies by weights that `packing` laid out, by the processor's
`instructions`; `elementary` has LayerNorm and the activations; through `work_queue` two threads
share a product; `arrays` has the types. A function under a decorator of `jit` is compiled by
`compiling`, where the innermost loops are (`intrinsics` names them), for the processor that
`target` chooses, and kept in a folder of `cache`. `linker` makes an image of all that is compiled,
and `image` loads it; `signatures` says by which types of arguments.
"""
