"""The shipped recipes; the first one from an empty folder to a score, as in docs/training.md."""

import json
import re
import shlex
from pathlib import Path

import pytest

from app.shipped import recipe_path, shipped
from model.checkpoint.reader import load_checkpoint
from model.text.tokenizer import Tokenizer
from model.training.config import TrainingConfig, read_recipe
from model.training.data.written_numbers import generate_pairs
from model.training.log import read_log
from tests.app.cli.conftest import Attend

RECIPES = sorted(shipped("recipes").glob("*.toml"))
DOCS = Path(__file__).parents[3] / "docs"
TUTORIAL = (DOCS / "training.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "recipes.md").read_text(encoding="utf-8")
BACK_TRANSLATION = REFERENCE.partition("### Back-translation")[2].partition("\n## ")[0]
FIRST = TUTORIAL.partition("## A first model in ten minutes")[2].partition("\n## ")[0]

SMALLER = [
    *("--schedule-steps", "3", "--schedule-warmup-steps", "1", "--schedule-decay-steps", "1"),
    *("--tokenizer-vocab-size", "560", "--batch-tokens", "400", "--validation-every", "3"),
    *("--model-d-model", "32", "--model-d-ff", "64", "--threads", "1", "--device", "cpu"),
]


def write_corpora(folder: Path) -> None:
    pairs = generate_pairs(3000, seed=1)
    folder.mkdir()
    train = [*pairs[20:], pairs[0], pairs[20]]  # a held-out pair, and a duplicate
    for name, part in (("train", train), ("dev", pairs[:20])):
        lines = "".join(f"{english}\t{french}\n" for english, french in part)
        (folder / f"{name}.tsv").write_text(lines, encoding="utf-8")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_shipped_recipe_is_valid_and_known_by_its_name(path: Path) -> None:
    TrainingConfig.parse(read_recipe(path), str(path))
    assert recipe_path(path.stem) == path


def test_first_recipe(
    attend: Attend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: None
) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpora(tmp_path / "corpora")
    train, evaluate = (
        shlex.split(line)
        for line in re.findall(r"^    attend (.*)$", FIRST, re.MULTILINE)
        if line.startswith(("train", "evaluate"))
    )
    trained = attend(*train, *SMALLER)
    assert trained.exit_code == 0, trained.stderr
    assert "step 3/3" in trained.stderr
    counts = re.search(r"train: 2,982 pairs, .* held_out, .* duplicates", trained.stderr)
    assert counts, trained.stderr
    (measured,) = read_log(tmp_path / "runs" / "first" / "log.jsonl").validations
    assert {"dev.fr.cross_entropy", "dev.fr.bleu"} <= measured.keys()
    checkpoint = load_checkpoint(tmp_path / "runs" / "first" / "checkpoint")
    assert checkpoint.config.directions == [("en", "fr")]

    scored = attend(*evaluate, "--json")
    assert scored.exit_code == 0, scored.stderr
    (result,) = json.loads(scored.stdout)["files"]
    assert result["pairs"] == 20
    assert 0 <= result["bleu"] <= 100


def test_back_translation(
    attend: Attend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    corpora = tmp_path / "corpora"
    write_corpora(corpora)
    french = [second for _, second in generate_pairs(30, seed=9)]
    [line] = re.findall(r"^    attend (translate .*)$", BACK_TRANSLATION, re.MULTILINE)
    command, source, destination = re.split(r" [<>] ", line)
    translated = attend(
        *shlex.split(command), "--checkpoint", tiny_checkpoint, stdin="\n".join(french) + "\n"
    )
    assert translated.exit_code == 0, translated.stderr
    Path(source).write_text("\n".join(french) + "\n", encoding="utf-8")
    Path(destination).write_text(translated.stdout, encoding="utf-8")

    [table] = re.findall(r"```toml\n(.*?)```", BACK_TRANSLATION, re.DOTALL)
    recipe = recipe_path("first").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(f"{recipe}\n{table}", encoding="utf-8")
    trained = attend("train", "mine.toml", "--corpora", "corpora", "--run", "run", *SMALLER)
    assert trained.exit_code == 0, trained.stderr
    assert "back-translated: 30 pairs" in trained.stderr
    tokenizer = Tokenizer.load(tmp_path / "run" / "tokenizer.model")
    assert tokenizer.source_symbols("fr", "bt") == [
        tokenizer.language_id("fr"),
        tokenizer.tag_id("bt"),
    ]
