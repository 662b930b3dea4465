"""§3.5 positional encoding, as a table."""

import numpy as np
from numpy.typing import NDArray

from model.transformer.config import PositionLayout


def sinusoidal_positions(
    length: int, d_model: int, layout: PositionLayout, first: int = 0
) -> NDArray[np.float32]:
    """[length, D] of §3.5: PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos of the same.

    `halves` has the same values with all sines first. `marian` has the same order, but its
    wavelengths end at 2π · 10000, as in the authors' tensor2tensor: D − 2 replaces D in the
    exponent. Row 0 is position `first`. Computed in float64, so that late positions are exact in
    float32.
    """
    positions = np.arange(first, first + length, dtype=np.float64)[:, None]
    even_dimensions = np.arange(0, d_model, 2, dtype=np.float64)
    divisor = max(d_model - 2, 1) if layout == "marian" else d_model
    angles = positions / 10_000 ** (even_dimensions / divisor)
    waves = np.sin(angles), np.cos(angles)
    if layout == "interleaved":
        table = np.stack(waves, axis=2).reshape(length, d_model)
    else:
        table = np.concatenate(waves, axis=1)
    return table.astype(np.float32)
