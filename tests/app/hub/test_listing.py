import pytest

from app.errors import PullError
from app.hub.listing import Listing, RemoteFile, small_files, weight_files
from tests.cases import cases


def listing(*paths: str, size: int = 10) -> Listing:
    return Listing(
        "o/m", "0" * 40, None, [RemoteFile(path, size, "f", is_lfs=True) for path in paths]
    )


def paths(files: list[RemoteFile]) -> list[str]:
    return [file.path for file in files]


@pytest.mark.parametrize(
    ("there", "chosen"), cases(__file__, "the_best_format_that_is_there_is_chosen")
)
def test_the_best_format_that_is_there_is_chosen(there: list[str], chosen: list[str]) -> None:
    assert paths(weight_files(listing(*there))) == chosen


def test_without_weights_the_error_lists_the_files() -> None:
    with pytest.raises(PullError, match=r"o/m: has no weights .* it has \.h5, \.onnx$"):
        weight_files(listing("tf_model.h5", "x.onnx", "config.json"))
    with pytest.raises(PullError, match=r"it has none$"):
        weight_files(listing("config.json"))


def test_small_files_are_those_of_the_top_folder_and_of_attend() -> None:
    files = listing(
        "README.md", "config.json", "source.spm", "other.md", "onnx/config.json",
        "attend/config.json", "attend/CARD.md", "model.safetensors",
    )  # fmt: skip
    chosen = small_files(files)
    assert paths(chosen) == [
        "README.md", "config.json", "source.spm", "attend/config.json", "attend/CARD.md",
    ]  # fmt: skip
    assert sum(file.size for file in chosen) == 50


def test_a_large_vocabulary_is_not_small() -> None:
    assert small_files(listing("vocab.json", size=50_000_001)) == []
