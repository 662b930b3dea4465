"""The CPU engine: the paper's arithmetic as kernels that numba compiles for the machine at hand."""
