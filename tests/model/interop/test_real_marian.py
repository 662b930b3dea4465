"""Marian itself, where there is one: MARIAN_PYTHON names a Python that has `pymarian`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.marian import MODELS, UNLIKE, compare
from benchmarks.marian_process import MarianProcess

PYTHON = os.environ.get("MARIAN_PYTHON") or (sys.executable if find_spec("pymarian") else None)


@pytest.mark.skipif(PYTHON is None, reason="no pymarian here, and MARIAN_PYTHON is not set")
@pytest.mark.parametrize("name", sorted(MODELS.keys() - UNLIKE))
def test_n_best_lists_and_scores_are_marians(name: str, tmp_path: Path) -> None:
    assert PYTHON
    with MarianProcess(PYTHON) as process:
        found = compare(process, tmp_path, name, n_sentences=20)
    assert all(agreement.whole for agreement in found.values()), found
