"""Types of the arrays that kernels share."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Flags = NDArray[np.bool_]
Records = NDArray[np.void]
