"""Int8 products in training, on CPUs where those are several times as fast as float32.

As in SwitchBack (Wortsman et al. 2023), both sides of a product are rounded to 8 bits with a scale
for each row or column. There, gradients of weights stay in 16 bits; here they are int8 products as
well, of blocks of tokens with scales of their own. Weights, moments and the values between layers
are float32, so the files that a run saves do not depend on it.

Read in this order: `codes` (a matrix in int8), `kernels` (loops over its elements), `layers`.
"""
