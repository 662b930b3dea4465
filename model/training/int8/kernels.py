"""Loops over matrices in int8 that torch has no operator for, compiled by numba.

All arrays are C-contiguous. A maximum is one of the bits of float32 numbers without their sign,
which are integers of the same order: LLVM vectorises a maximum of integers, not one of floats. The
bits of a number that is not finite are the largest, so its scale is not finite either.
"""

import numpy as np
from numpy.typing import NDArray

from model.engine.cpu.kernels.jit import contracted_kernel, kernel

Floats = NDArray[np.float32]
Codes = NDArray[np.int8]
Sums = NDArray[np.int32]

_ABSOLUTE = np.int32(0x7FFFFFFF)
_LARGEST = np.float32(127.0)
_ZERO = np.float32(0.0)
_ROUNDING = np.float32(1.5 * 2**23)
"""Added to a small float32 number and subtracted again, it rounds to an integer, half to even."""


@kernel
def _quantise_row(row: Floats, codes: Codes) -> np.float32:
    """row [K] → codes [K] in −127 … 127; return the scale."""
    bits = row.view(np.int32)
    scale: Floats = np.empty(1, np.float32)
    largest = np.int32(0)
    for k in range(row.shape[0]):
        largest = max(largest, bits[k] & _ABSOLUTE)
    scale.view(np.int32)[0] = largest
    inverse = _LARGEST / scale[0] if largest else _ZERO
    for k in range(row.shape[0]):
        codes[k] = np.int8(np.int32((row[k] * inverse + _ROUNDING) - _ROUNDING))
    return np.float32(scale[0] / _LARGEST)


@kernel
def quantise_rows(rows: Floats, codes: Codes, scales: Floats) -> None:
    """rows [N, K] → codes [N, K] in −127 … 127 and scales [N]."""
    for n in range(rows.shape[0]):
        scales[n] = _quantise_row(rows[n], codes[n])


@kernel
def quantise_columns(rows: Floats, codes: Codes, scales: Floats) -> None:
    """rows [N, K] → codes [N, K] in −127 … 127 and scales [K]."""
    bits, largest = rows.view(np.int32), scales.view(np.int32)
    largest[:] = 0
    for n in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            largest[k] = max(largest[k], bits[n, k] & _ABSOLUTE)
    inverse = _inverse(scales)
    for n in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            codes[n, k] = np.int8(np.int32((rows[n, k] * inverse[k] + _ROUNDING) - _ROUNDING))


@kernel
def exchange_scales(codes: Codes, row_scales: Floats, changed: Codes, scales: Floats) -> None:
    """codes [N, K] with scales [N] of rows → `changed` [N, K] with scales [K] of columns."""
    largest = scales.view(np.int32)
    largest[:] = 0
    product = np.empty(codes.shape[1], np.float32)
    for n in range(codes.shape[0]):
        for k in range(codes.shape[1]):
            product[k] = np.float32(codes[n, k]) * row_scales[n]
        bits = product.view(np.int32)
        for k in range(codes.shape[1]):
            largest[k] = max(largest[k], bits[k] & _ABSOLUTE)
    inverse = _inverse(scales)
    for n in range(codes.shape[0]):
        for k in range(codes.shape[1]):
            value = np.float32(codes[n, k]) * row_scales[n] * inverse[k]
            changed[n, k] = np.int8(np.int32((value + _ROUNDING) - _ROUNDING))


@kernel
def _inverse(scales: Floats) -> Floats:
    """Turn maxima into scales, in place; return the factors from values to codes."""
    inverse = np.empty(scales.shape[0], np.float32)
    for k in range(scales.shape[0]):
        inverse[k] = _ZERO if scales[k] == _ZERO else _LARGEST / scales[k]
        scales[k] /= _LARGEST
    return inverse


@contracted_kernel
def rescale(
    sums: Sums, row_scales: Floats, column_scales: Floats, shift: Floats, output: Floats
) -> None:
    """sums [N, M] of products of codes → output [N, M] = sums · scales + shift [M]."""
    for n in range(sums.shape[0]):
        scale = row_scales[n]
        for m in range(sums.shape[1]):
            output[n, m] = np.float32(sums[n, m]) * (scale * column_scales[m]) + shift[m]


@contracted_kernel
def add_rescaled(sums: Sums, row_scales: Floats, column_scales: Floats, output: Floats) -> None:
    """Add sums [N, M] · scales to output [N, M]."""
    for n in range(sums.shape[0]):
        scale = row_scales[n]
        for m in range(sums.shape[1]):
            output[n, m] += np.float32(sums[n, m]) * (scale * column_scales[m])


@contracted_kernel
def add_up_rows(rows: Floats, output: Floats) -> None:
    """Add the sum of rows [N, M] to output [M]."""
    for n in range(rows.shape[0]):
        for m in range(rows.shape[1]):
            output[m] += rows[n, m]


@contracted_kernel
def rectify(
    sums: Sums,
    row_scales: Floats,
    column_scales: Floats,
    shift: Floats,
    codes: Codes,
    scales: Floats,
) -> None:
    """`rescale`, max(0, x) and `quantise_rows` in one pass: sums [N, M] → codes, scales."""
    value = np.empty(sums.shape[1], np.float32)
    for n in range(sums.shape[0]):
        scale = row_scales[n]
        for m in range(sums.shape[1]):
            x = np.float32(sums[n, m]) * (scale * column_scales[m]) + shift[m]
            value[m] = _ZERO if x < _ZERO else x  # keeps NaN
        scales[n] = _quantise_row(value, codes[n])


@contracted_kernel
def rectify_backward(
    sums: Sums,
    row_scales: Floats,
    column_scales: Floats,
    activations: Codes,
    codes: Codes,
    scales: Floats,
    total: Floats,
) -> None:
    """`rescale`, 0 where an activation is, and `quantise_rows` in one pass: sums [N, M] → codes.

    Adds the gradients' sum over rows to `total` [M].
    """
    value = np.empty(sums.shape[1], np.float32)
    for n in range(sums.shape[0]):
        scale = row_scales[n]
        for m in range(sums.shape[1]):
            x = np.float32(sums[n, m]) * (scale * column_scales[m])
            value[m] = x if activations[n, m] else _ZERO
            total[m] += value[m]
        scales[n] = _quantise_row(value, codes[n])
