"""Kernels that know nothing of a Transformer: matrix products and what is done within a row.

Reading order: `linear` multiplies by weights that `packing` laid out, with the innermost loops of
`tile` and `flat`, which are LLVM's vector code (`llvm`); `elementary` has LayerNorm and the
activations; `board` is where two threads share a product; `jit` compiles and keeps all kernels of
the engine. `types` are those of the arrays that they share, and `untouched` allocates memory that
takes none until it is written.
"""
