"""Kernels that know nothing of a Transformer: matrix products and operations within a row.

Reading order: `linear` multiplies by weights that `packing` laid out, with the innermost loops of
`tile`, by the processor's `instructions`, and of `flat`, all LLVM's vector code (`llvm`);
`elementary` has LayerNorm and the activations; through `work_queue` two threads share a product;
`jit` compiles and caches all kernels of the engine, for the processor that `target` chooses;
`arrays` has their types.
"""
