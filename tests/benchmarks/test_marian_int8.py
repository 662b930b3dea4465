"""Marian's binary models, read back number by number."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.marian_int8 import quantise


def test_a_model_is_written_as_marian_reads_it(tmp_path: Path) -> None:
    weight = np.zeros((64, 8), np.float32)
    weight[0, 0], weight[3, 1], weight[5, 7] = 2.0, -1.0, 0.5
    bias = np.arange(8, dtype=np.float32)[None]
    options = np.frombuffer(b"type: transformer\n\0", np.int8)
    arrays: dict[str, Any] = {
        "encoder_l1_ffn_W1": weight,
        "encoder_l1_ffn_b1": bias,
        "special:model.yml": options,
    }
    np.savez(tmp_path / "model.npz", **arrays)
    quantise(tmp_path / "model.npz", tmp_path / "model.bin")
    content = (tmp_path / "model.bin").read_bytes()
    assert struct.unpack_from("<QQ", content) == (1, 3)
    heads = [struct.unpack_from("<4Q", content, 16 + 32 * index) for index in range(3)]
    assert [head[:3] for head in heads] == [(18, 0x10001, 2), (18, 0x404, 2), (18, 0x101, 1)]
    assert [head[3] for head in heads] == [768, 256, 256]  # 512 + 4, 32 and 19 bytes
    position = 16 + 3 * 32
    names = content[position : position + 3 * 18].split(b"\0")
    assert names[:3] == [b"encoder_l1_ffn_W1", b"encoder_l1_ffn_b1", b"special:model.yml"]
    position += 3 * 18
    assert struct.unpack_from("<5i", content, position) == (64, 8, 1, 8, 19)
    position += 5 * 4
    (padding,) = struct.unpack_from("<Q", content, position)
    position += 8 + padding
    assert position % 256 == 0
    stored = np.frombuffer(content, np.int8, 512, position).reshape(8, 64)  # transposed
    expected = np.zeros((8, 64), np.int8)
    expected[0, 0], expected[1, 3], expected[7, 5] = 127, -64, 32
    assert (stored == expected).all()
    assert struct.unpack_from("<f", content, position + 512) == (63.5,)
    position += 768
    assert np.frombuffer(content, np.float32, 8, position).tolist() == bias[0].tolist()
    assert content[position + 256 :].rstrip(b"\0") == b"type: transformer\n"
    assert len(content) == position + 512


@pytest.mark.parametrize("shape", [(96, 8), (64, 12)])
def test_sizes_that_intgemm_cannot_multiply_are_refused(
    tmp_path: Path, shape: tuple[int, int]
) -> None:
    np.savez(tmp_path / "model.npz", decoder_l1_self_Wq=np.ones(shape, np.float32))
    with pytest.raises(ValueError, match=r"decoder_l1_self_Wq is \[.*\]; intgemm needs multiples"):
        quantise(tmp_path / "model.npz", tmp_path / "model.bin")
    assert not (tmp_path / "model.bin").exists()
