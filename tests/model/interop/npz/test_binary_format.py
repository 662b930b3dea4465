import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.checkpoint.tensor_file import Quantized
from model.errors import CheckpointError
from model.interop.npz.binary_format import OPTIONS, read_binary
from tests.firefox_model import Item, quantised, write_binary

MATRIX = np.array([[1.0, -2.0, 0.5], [0.25, 4.0, -1.0]], np.float32)
ITEMS: dict[str, Item] = {
    "encoder_l1_ffn_W1": (0x4101, (2, 3), quantised(MATRIX, transpose=True)),
    "Wemb": (0x4101, (2, 3), quantised(MATRIX, transpose=False)),
    "bias": (0x0404, (1, 3), MATRIX[0].tobytes()),
}
HEADER, ENTRY = 16, 32


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "model.bin"
    write_binary(path, ITEMS, {"type": "transformer"})
    return path.read_bytes()


def test_what_is_written_is_read(written: bytes) -> None:
    model = read_binary(written, "m.bin")
    assert model.options == b"type: transformer\n"
    assert np.array_equal(model.items["bias"], MATRIX[:1])  # type: ignore[arg-type]
    for name, expected in (("encoder_l1_ffn_W1", MATRIX.T), ("Wemb", MATRIX)):
        item = model.items[name]
        assert isinstance(item, Quantized)
        assert 1 / item.scale == pytest.approx(127 / 4)
        assert np.array_equal(item.codes, np.rint(expected / item.scale))
        assert np.allclose(item.values, expected, atol=4 / 127 / 2 + 1e-6)


def refused(data: bytes) -> str:
    with pytest.raises(CheckpointError) as error:
        read_binary(data, "m.bin")
    message = str(error.value)
    assert message.startswith("m.bin: ")
    assert "\n" not in message
    return message


def changed(data: bytes, at: int, layout: str, *values: float) -> bytes:
    new = struct.pack(layout, *values)
    return data[:at] + new + data[at + len(new) :]


@pytest.mark.parametrize(
    ("at", "layout", "value", "reason"),
    [
        (0, "<Q", 2, "version 2, not 1"),
        (8, "<Q", 0, "0 items"),
        (8, "<Q", 1 << 60, "items"),
        (HEADER, "<Q", 1 << 63, "a name"),
        (HEADER, "<Q", 0, "a name is empty"),
        (HEADER + 8, "<Q", 0x0402, "is float16; attend reads float32 and intgemm8"),
        (HEADER + 8, "<Q", 0x7777, "is type 0x7777"),
        (HEADER + 16, "<Q", 1 << 40, "dimensions"),
        (HEADER + 24, "<Q", 1 << 62, "ends within 'Wemb'"),
        (HEADER + 24, "<Q", 4, "'Wemb' is shorter than its shape [2, 3]"),
    ],
)
def test_false_lengths_are_refused(
    written: bytes, at: int, layout: str, value: int, reason: str
) -> None:
    assert reason in refused(changed(written, at, layout, value))


def test_false_shapes_are_refused(written: bytes) -> None:
    shapes = HEADER + 4 * ENTRY + sum(len(name) + 1 for name in (*ITEMS, OPTIONS))
    assert "has shape [-2, 3]" in refused(changed(written, shapes, "<i", -2))
    assert "shorter than its shape" in refused(changed(written, shapes, "<ii", 1 << 30, 1 << 30))


def test_invalid_values_are_refused(tmp_path: Path) -> None:
    def with_item(kind: int, content: bytes) -> bytes:
        write_binary(tmp_path / "m.bin", {"x": (kind, (1, 2), content)}, {"type": "transformer"})
        return (tmp_path / "m.bin").read_bytes()

    assert "NaN or infinity" in refused(with_item(0x0404, struct.pack("<ff", 1, float("nan"))))
    for multiplier in (0.0, -1.0, float("inf"), float("nan")):
        content = b"\1\2" + struct.pack("<f", multiplier)
        assert "the multiplier of 'x' is" in refused(with_item(0x4101, content))
    assert "holds −128" in refused(with_item(0x4101, b"\x80\2" + struct.pack("<f", 1)))


def test_bytes_after_the_last_item_are_refused(written: bytes) -> None:
    assert "1 bytes after the last item" in refused(written + b"\0")


@given(st.data())
def test_damage_is_reported_in_one_line_or_gives_another_model(
    written: bytes, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(written) - 1))
    cut = data.draw(st.booleans())
    damaged = written[:at] if cut else changed(written, at, "B", data.draw(st.integers(0, 255)))
    if cut:
        refused(damaged)
        return
    with suppress(CheckpointError):  # any other exception is a bug
        read_binary(damaged, "m.bin")
