import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from model.errors import TrainingError
from model.training import state
from model.training.data.batches import Position
from model.training.state import Counters, latest_state, load_state, save_state, step_of
from model.training.update.optimizer import Optimizer, OptimizerConfig
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer


def make(seed: int = 0) -> tuple[Transformer, Optimizer]:
    torch.manual_seed(seed)
    model = Transformer(PRESETS["tiny"])
    return model, Optimizer(model, OptimizerConfig())


def test_round_trip_of_weights_and_counters(tmp_path: Path) -> None:
    model, optimizer = make()
    counters = Counters(12, 3456, 7.5, Position(2, 9))
    save_state(tmp_path, model, optimizer, counters)
    other, its_optimizer = make(seed=1)
    folder = latest_state(tmp_path)
    assert folder is not None
    assert load_state(folder, other, its_optimizer) == counters
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_only_the_newest_state_is_kept(tmp_path: Path) -> None:
    assert latest_state(tmp_path) is None
    for step in (9, 10, 100):
        save_state(tmp_path, *make(), Counters(step))
    assert [path.name for path in tmp_path.iterdir()] == ["state-00000100"]


def test_copies_under_other_names_are_left_alone(tmp_path: Path) -> None:
    save_state(tmp_path, *make(), Counters(9))
    copy = shutil.copytree(tmp_path / "state-00000009", tmp_path / "state-00000009.bak")
    save_state(tmp_path, *make(), Counters(10))
    assert latest_state(tmp_path) == tmp_path / "state-00000010"
    assert {path.name for path in tmp_path.iterdir()} == {"state-00000010", copy.name}


@pytest.mark.parametrize("write", ["model", "optimizer", "counters", "rename"])
def test_a_crash_while_saving_leaves_the_older_state_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    model, optimizer = make()
    save_state(tmp_path, model, optimizer, Counters(1))

    class PowerFailureError(BaseException):
        pass

    def crash_on(name: str, real: object) -> object:
        def call(*arguments: object, **options: object) -> object:
            if name == write or any(write in str(a) for a in arguments if isinstance(a, Path)):
                raise PowerFailureError
            assert callable(real)
            return real(*arguments, **options)

        return call

    monkeypatch.setattr(state, "save_file", crash_on("save", save_file))
    monkeypatch.setattr(Path, "write_text", crash_on("text", Path.write_text))
    monkeypatch.setattr(Path, "rename", crash_on("rename", Path.rename))
    with pytest.raises(PowerFailureError):
        save_state(tmp_path, model, optimizer, Counters(2))
    monkeypatch.undo()
    folder = latest_state(tmp_path)
    assert folder is not None
    assert step_of(folder) == 1
    assert load_state(folder, *make()).step == 1
    save_state(tmp_path, model, optimizer, Counters(2))
    assert [path.name for path in tmp_path.iterdir()] == ["state-00000002"]


def test_saving_a_step_again_never_removes_it(tmp_path: Path) -> None:
    save_state(tmp_path, *make(), Counters(5))
    written = (tmp_path / "state-00000005" / "model.safetensors").stat().st_mtime_ns
    save_state(tmp_path, *make(), Counters(5))
    assert (tmp_path / "state-00000005" / "model.safetensors").stat().st_mtime_ns == written


def test_a_folder_that_cannot_be_written_is_a_training_error(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(TrainingError, match="cannot save"):
        save_state(tmp_path / "run", *make(), Counters(1))


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors", "counters.json"])
@pytest.mark.parametrize("damage", ["truncated", "missing", "foreign"])
def test_damaged_state_names_the_file(tmp_path: Path, file: str, damage: str) -> None:
    model, optimizer = make()
    save_state(tmp_path, model, optimizer, Counters(1))
    path = tmp_path / "state-00000001" / file
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:12])
    elif path.suffix == ".json":
        path.write_text(json.dumps({"step": 3}))
    else:
        save_file({"x": torch.zeros(2)}, path)
    with pytest.raises(TrainingError, match="state-00000001") as caught:
        load_state(path.parent, model, optimizer)
    assert "\n" not in str(caught.value)


def test_weights_of_another_shape(tmp_path: Path) -> None:
    model, optimizer = make()
    save_state(tmp_path, model, optimizer, Counters(1))
    path = tmp_path / "state-00000001" / "model.safetensors"
    tensors = load_file(path)
    name = next(iter(tensors))
    save_file(tensors | {name: torch.zeros(2, 2)}, path)
    with pytest.raises(TrainingError, match="cannot resume"):
        load_state(path.parent, model, optimizer)


def test_states_sort_by_number(tmp_path: Path) -> None:
    for name in ("state-99999999", "state-100000000", "state-100000001.partial"):
        (tmp_path / name).mkdir()
    folder = latest_state(tmp_path)
    assert folder is not None
    assert folder.name == "state-100000000"
    shutil.rmtree(folder)
