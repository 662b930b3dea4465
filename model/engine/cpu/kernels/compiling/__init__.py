"""What only the compiler needs: everything that imports numba and llvmlite.

`dispatcher` is numba's part of a kernel, `overloads` its cache, `linking` how kernels call each
other. `products`, `tile`, `flat` and `atomics` are the code that is inlined into kernels, in LLVM's
terms (`llvm`, `byte_products`). A process whose kernels are all compiled imports none of it.
"""
