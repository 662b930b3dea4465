from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor

from model.checkpoint.writer import write_tensors

TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
SHAPES = st.lists(st.integers(0, 3), max_size=3)


@settings(max_examples=25)
@given(st.dictionaries(st.text(max_size=5), st.tuples(st.sampled_from(TYPES), SHAPES), max_size=6))
def test_safetensors_reads_what_was_written(
    tmp_path_factory: object, kinds: dict[str, tuple[torch.dtype, list[int]]]
) -> None:
    kinds.pop("__metadata__", None)
    file = Path(tmp_path_factory.getbasetemp()) / "x.safetensors"  # type: ignore[attr-defined]
    tensors = {name: torch.randn(shape).to(kind) for name, (kind, shape) in kinds.items()}
    write_tensors(file, tensors)
    read = load_file(file)
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype
        torch.testing.assert_close(read[name], tensor, rtol=0, atol=0)


def test_views_are_written_as_they_look(tmp_path: Path) -> None:
    matrix = torch.arange(6.0).reshape(2, 3)
    write_tensors(tmp_path / "x", {"t": matrix.T, "row": matrix[:, 1]})
    read = load_file(tmp_path / "x")
    assert read["t"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert read["row"].tolist() == [1, 4]


class _Counting(Mapping[str, Tensor]):
    """Creates each tensor on access, as for a model in shards."""

    def __init__(self) -> None:
        self.alive: list[str] = []

    def __getitem__(self, name: str) -> Tensor:
        self.alive.append(name)
        return torch.full((2,), float(name))

    def __iter__(self) -> Iterator[str]:
        return iter(("1", "2", "3"))

    def __len__(self) -> int:
        return 3


def test_tensors_are_read_once_for_their_shape_and_once_for_their_data(tmp_path: Path) -> None:
    tensors = _Counting()
    write_tensors(tmp_path / "x", tensors)
    assert tensors.alive == ["1", "2", "3"] * 2
    assert {name: one[0].item() for name, one in load_file(tmp_path / "x").items()} == {
        "1": 1, "2": 2, "3": 3,
    }  # fmt: skip
