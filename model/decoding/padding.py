"""Ragged ids to rectangular tensors."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def padded_ids(rows: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> Tensor:
    """B rows of ids → [B, longest], right-padded, int64."""
    table = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return torch.from_numpy(table).to(device)
