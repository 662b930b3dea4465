import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Literal, get_args, get_origin

import pytest
from click.testing import CliRunner, Result
from pydantic import BaseModel

from app.cli.main import main
from app.cli.train import train
from model.checkpoint.reader import load_checkpoint
from model.training.config import FROM_VOCABULARY, TrainingConfig
from model.training.log import read_log
from model.training.state import latest_state, step_of
from model.transformer.config import TransformerConfig
from tests.cases import cases

RECIPE = Path(__file__).with_name("toy.toml").read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "toy.toml").write_text(RECIPE)
    letters = "abcdefgh"
    words = [letters[i % 8] + letters[i % 5] + letters[i % 7] + letters[i % 3] for i in range(400)]
    (tmp_path / "toy.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    return tmp_path


def arguments(folder: Path, *more: str) -> list[str]:
    return [
        "train", str(folder / "toy.toml"), "--corpora", str(folder), "--run", str(folder / "run"),
        "--threads", "1", "--device", "cpu", *more,
    ]  # fmt: skip


def attend(folder: Path, *more: str) -> Result:
    return CliRunner().invoke(main, arguments(folder, *more))


def test_one_command_trains_and_writes_the_checkpoint(folder: Path) -> None:
    result = attend(folder, "--checkpoint", str(folder / "out"))
    assert result.exit_code == 0, result.output
    assert f"wrote {folder / 'out'}" in result.output
    assert "step 3: dev.yy " in result.output
    assert load_checkpoint(folder / "out").config.name == "toy"
    log = read_log(folder / "run" / "log.jsonl")
    assert [line["step"] for line in log.updates] == [3]
    assert [line["step"] for line in log.validations] == [3]


def test_a_run_starts_from_a_checkpoint(folder: Path) -> None:
    assert attend(folder, "--checkpoint", str(folder / "out")).exit_code == 0
    shutil.rmtree(folder / "run")
    result = attend(folder, "--init", str(folder / "out"))
    assert result.exit_code == 0, result.output
    training = json.loads((folder / "run" / "checkpoint" / "training.json").read_text())
    assert training["init"]["name"] == "toy"


def test_a_recipe_without_a_shape_has_that_of_the_checkpoint(folder: Path) -> None:
    assert attend(folder, "--model-d-ff", "48", "--checkpoint", str(folder / "out")).exit_code == 0
    shutil.rmtree(folder / "run")
    recipe = (folder / "toy.toml").read_text().replace('preset = "tiny"\n', "")
    (folder / "toy.toml").write_text(recipe.replace("[tokenizer]\nvocab_size = 330\n", ""))
    started = attend(folder, "--init", str(folder / "out"), "--schedule-steps", "2")
    assert started.exit_code == 0, started.output
    resumed = attend(folder, "--resume", "--schedule-steps", "3")
    assert resumed.exit_code == 0, resumed.output
    trained = load_checkpoint(folder / "run" / "checkpoint").config.transformer
    assert trained == load_checkpoint(folder / "out").config.transformer
    assert trained.d_ff == 48
    (folder / "run" / "recipe.json").write_text("{")
    assert "recipe.json" in attend(folder, "--resume").output


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--init", "somewhere", "--resume"), "--resume and --init exclude each other"),
        (("--adapt",), "--adapt requires --init"),
        (("--resume", "--continue"), "--resume and --continue exclude each other"),
    ],
)
def test_contradictory_warm_start_flags(folder: Path, flags: tuple[str, ...], message: str) -> None:
    result = attend(folder, *flags)
    assert result.exit_code == 2
    assert message in result.output
    assert not (folder / "run").exists()


def test_continue_starts_resumes_and_finishes_a_run(folder: Path) -> None:
    out = folder / "run" / "checkpoint" / "training.json"
    for steps in ("2", "4", "4"):  # the last run has nothing left to do
        result = attend(folder, "--continue", "--schedule-steps", steps)
        assert result.exit_code == 0, result.output
        assert json.loads(out.read_text())["step"] == int(steps)
    assert "from step 4" in result.output
    assert attend(folder).exit_code == 1  # without it, a run is not continued


def test_continue_takes_the_weights_of_a_checkpoint_once(folder: Path) -> None:
    assert attend(folder, "--checkpoint", str(folder / "out")).exit_code == 0
    shutil.rmtree(folder / "run")
    for steps in ("1", "2"):
        flags = ("--continue", "--init", str(folder / "out"), "--schedule-steps", steps)
        assert attend(folder, *flags).exit_code == 0
        shutil.rmtree(folder / "out", ignore_errors=True)  # only the start reads it
    training = json.loads((folder / "run" / "checkpoint" / "training.json").read_text())
    assert training["step"] == 2
    assert training["init"]["name"] == "toy"


def test_a_flag_wins_over_the_file(folder: Path) -> None:
    flags = ["--schedule-steps", "2", "--noise-join", "0.25", "--optimizer-kind", "muon"]
    flags += ["--model-d-ff", "48", "--model-norm-order", "pre", "--model-share-embeddings", "true"]
    result = attend(folder, *flags)
    assert result.exit_code == 0, result.output
    recipe = json.loads((folder / "run" / "recipe.json").read_text())
    assert recipe["schedule"]["steps"] == 2
    assert recipe["schedule"]["peak"] == 1e-3
    assert recipe["noise"]["join"] == 0.25
    assert recipe["optimizer"]["kind"] == "muon"
    assert recipe["model"] == {"d_ff": 48, "norm_order": "pre", "share_embeddings": True}
    assert load_checkpoint(folder / "run" / "checkpoint").config.transformer.d_ff == 48


def test_the_log_for_tensorboard(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, int]] = []
    places: list[str] = []

    class SummaryWriter:
        def __init__(self, place: str) -> None:
            places.append(place)

        def add_scalar(self, name: str, value: float, step: int) -> None:
            assert isinstance(value, float | int)
            written.append((name, step))

        def flush(self) -> None:
            pass

    fake = ModuleType("torch.utils.tensorboard")
    fake.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    assert attend(folder, "--tensorboard").exit_code == 0
    assert places == [str(folder / "run" / "tensorboard")]
    assert {("cross_entropy", 3), ("dev/yy/bleu", 3)} <= set(written)
    assert len(written) == len(set(written))


@pytest.mark.parametrize(
    ("module", "flags", "message"),
    [
        (
            "torch.utils.tensorboard",
            ("--tensorboard",),
            "--tensorboard needs the extra",
        ),
        ("app.cli.display.training_plot", ("--plot", "a.png"), "pip install matplotlib"),
    ],
)
def test_missing_packages_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, flags: tuple[str, ...], message: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    result = attend(folder, *flags)
    assert result.exit_code == 1
    assert message in result.output
    assert not (folder / "run").exists()


def scalars(model: type[BaseModel], prefix: str = "-") -> set[str]:
    flags = set()
    for name, field in model.model_fields.items():
        flag = f"{prefix}-{name}".replace("_", "-")
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            flags |= scalars(kind, flag)
        elif kind in (bool, int, float, str) or (
            get_origin(kind) is Literal and all(isinstance(arg, str) for arg in get_args(kind))
        ):
            flags.add(flag)
    return flags


def test_every_scalar_hyperparameter_has_a_flag() -> None:
    flags = {flag for option in train.params for flag in option.opts}
    assert scalars(TrainingConfig) <= flags
    shape = {f"--model-{name}".replace("_", "-") for name in FROM_VOCABULARY}
    assert scalars(TransformerConfig, "--model") - shape <= flags
    assert not shape & flags
    assert {"--schedule-warmup-steps", "--noise-uppercase", "--model-dropout"} <= flags
    assert len(flags) == len([flag for option in train.params for flag in option.opts])


@pytest.mark.parametrize(("flags", "exit_code", "message"), cases(__file__, "bad_flag_values"))
def test_bad_flag_values(folder: Path, flags: list[str], exit_code: int, message: str) -> None:
    result = attend(folder, *flags)
    assert result.exit_code == exit_code, result.output
    assert message in result.output
    assert "Traceback" not in result.output
    if exit_code == 1:
        assert result.output.strip().splitlines()[-1].startswith("attend: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "toy.toml: No such file"),
        ("= 3", "toy.toml: not TOML"),
        (RECIPE.replace("save_every", "save_evry"), "toy.toml with flags: unknown key 'save_evry'"),
        (RECIPE.replace('[["xx", "yy"]]', '[["xx", "zz"]]'), "no corpus for xx → zz"),
        (RECIPE.replace("[schedule]", "[plan]"), "unknown key 'plan'"),
        ("schedule = 3\n", "'schedule': expected a table"),
    ],
)
def test_bad_recipes_are_reported_in_one_line(
    folder: Path, content: str | None, message: str
) -> None:
    (folder / "toy.toml").unlink()
    if content is not None:
        (folder / "toy.toml").write_text(content)
    result = attend(folder, "--schedule-steps", "5")
    assert result.exit_code == 1
    assert result.output.startswith("attend: ")
    assert message in result.output


def test_plot_draws_the_log_and_trains_no_further(folder: Path) -> None:
    assert attend(folder).exit_code == 0
    before = (folder / "run" / "log.jsonl").read_bytes()
    for name, magic in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml")):
        pytest.importorskip("matplotlib")
        result = attend(folder, "--plot", str(folder / name))
        assert result.exit_code == 0, result.output
        assert (folder / name).read_bytes().startswith(magic)
    assert (folder / "run" / "log.jsonl").read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_saves_and_resume_finishes(folder: Path, number: signal.Signals) -> None:
    long = arguments(
        folder, "--schedule-steps", "100000", "--save-every", "100000", "--workers", "1"
    )
    run = folder / "run"
    with subprocess.Popen(
        [sys.executable, "-c", "from app.cli.main import main; main()", *long],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 300
        while not (run / "log.jsonl").exists() or not (run / "log.jsonl").stat().st_size:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "stopped and saved at step" in errors
    assert "Traceback" not in errors
    state = latest_state(run)
    assert state is not None
    step = step_of(state)
    assert step >= 50

    finished = attend(folder, "--finish")
    assert finished.exit_code == 0, finished.output
    assert json.loads((run / "checkpoint" / "training.json").read_text())["step"] == step

    resumed = attend(
        folder, "--resume", "--schedule-steps", str(step + 2), "--save-every", "100000"
    )
    assert resumed.exit_code == 0, resumed.output
    training = json.loads((run / "checkpoint" / "training.json").read_text())
    assert training["step"] == step + 2
    steps = [line["step"] for line in read_log(run / "log.jsonl").updates]
    assert steps == sorted(set(steps))
    assert steps[-1] == step + 2
