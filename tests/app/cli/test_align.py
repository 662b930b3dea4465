import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from model.alignment.from_attention import AlignmentMethod
from model.checkpoint.config import read_config
from model.checkpoint.writer import record_alignment
from tests.app.cli.conftest import Attend

ENGLISH = ["The weather is nice .", "A dog .", "", "The old cat sees a green house today ."]
FRENCH = ["Le temps est beau .", "Un chien .", "Rien .", "Le vieux chat voit une maison verte ."]
METHOD = AlignmentMethod(
    layer=0, head=1, position="reading", both_directions=True, symmetrisation="grow-diag"
)


def write(file: Path, lines: list[str]) -> Path:
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return file


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A tab-separated file."""
    lines = [f"{en}\t{fr}" for en, fr in zip(ENGLISH, FRENCH, strict=True)]
    return write(tmp_path / "pairs.tsv", lines)


@pytest.fixture
def own(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A separate checkpoint, whose method uses every option."""
    folder = tmp_path / "own"
    shutil.copytree(tiny_checkpoint, folder)
    record_alignment(folder, METHOD)
    return folder


@pytest.fixture
def gold(attend: Attend, own: Path, pairs: Path, tmp_path: Path) -> Path:
    """The links that `own` finds, with their texts."""
    write(tmp_path / "gold.en", ENGLISH)
    write(tmp_path / "gold.fr", FRENCH)
    return write(tmp_path / "gold.links", run(attend, own, pairs).splitlines())


def run(attend: Attend, checkpoint: Path, *arguments: str | Path) -> str:
    result = attend("align", "--checkpoint", checkpoint, *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def scores(attend: Attend, checkpoint: Path, *arguments: str | Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(attend, checkpoint, "--json", *arguments))
    return document


def parsed(output: str) -> list[list[tuple[int, ...]]]:
    return [
        [tuple(map(int, link.split("-"))) for link in line.split()] for line in output.splitlines()
    ]


def test_a_line_of_links_for_every_pair(attend: Attend, tiny_checkpoint: Path, pairs: Path) -> None:
    alignments = parsed(run(attend, tiny_checkpoint, pairs))
    assert len(alignments) == len(ENGLISH)
    for en, fr, links in zip(ENGLISH, FRENCH, alignments, strict=True):
        assert all(i < len(en.split()) and j < len(fr.split()) for i, j in links)
        # By default every target word has a source word, if there is one.
        assert [j for _, j in sorted(links, key=lambda link: link[1])] == list(
            range(len(fr.split()) if en else 0)
        )


def test_two_text_files(attend: Attend, tiny_checkpoint: Path, pairs: Path, tmp_path: Path) -> None:
    files = write(tmp_path / "a", ENGLISH), write(tmp_path / "b", FRENCH)
    assert run(attend, tiny_checkpoint, *files) == run(attend, tiny_checkpoint, pairs)


def test_links_follow_the_columns(attend: Attend, own: Path, pairs: Path, tmp_path: Path) -> None:
    swapped = [f"{fr}\t{en}" for en, fr in zip(ENGLISH, FRENCH, strict=True)]
    columns = ("--columns", "fr,en")
    there = parsed(run(attend, own, pairs))
    turned = parsed(run(attend, own, *columns, write(tmp_path / "swapped.tsv", swapped)))
    assert [sorted((j, i) for i, j in links) for links in turned] == there
    assert there != turned
    # The method uses both directions in the same way.
    assert parsed(run(attend, own, "--source", "fr", pairs)) == there


def test_json_has_spans_of_words(attend: Attend, tiny_checkpoint: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "raw.tsv", ["A dog.\tLe chien d'un."])
    whitespace = json.loads(run(attend, tiny_checkpoint, "--json", file))
    assert whitespace["words"] == [[[0, 1], [2, 6]], [[0, 2], [3, 8], [9, 14]]]
    text = json.loads(run(attend, tiny_checkpoint, "--json", "--words", "text", file))
    assert text["words"] == [
        [[0, 1], [2, 5], [5, 6]],
        [[0, 2], [3, 8], [9, 11], [11, 13], [13, 14]],
    ]
    assert {tuple(link) for link in whitespace["links"]} <= {
        (i, j) for i in (0, 1) for j in range(3)
    }
    assert [j for _, j in sorted(text["links"], key=lambda link: link[1])] == [0, 1, 2, 3, 4]


def test_its_own_alignments_are_without_error(attend: Attend, own: Path, gold: Path) -> None:
    found = scores(attend, own, "--gold", gold)
    assert (found["aer"], found["precision"], found["recall"]) == (0, 1, 1)
    assert found["pairs"] == len(ENGLISH)
    assert found["method"] == METHOD.model_dump()
    printed = run(attend, own, "--gold", gold)
    assert printed.splitlines() == [
        "tiny: en → fr, 4 pairs",
        "layer 0, head 1, reading position, both directions, grow-diag, threshold 0",
        "AER 0.000, precision 1.000, recall 1.000",
    ]
    back = scores(attend, own, "--gold", gold, "--source", "fr")
    assert back["aer"] == 0


def test_other_links_are_errors(attend: Attend, own: Path, gold: Path, pairs: Path) -> None:
    write(gold, ["0-4 1p3", "", "", "0-0"])
    found = scores(attend, own, "--gold", gold, pairs)
    assert found["aer"] > 0.5


def test_tuning_is_recorded(attend: Attend, tiny_checkpoint: Path, own: Path, gold: Path) -> None:
    record_alignment(own, AlignmentMethod())
    before = scores(attend, own, "--gold", gold)
    tuned = scores(attend, own, "--gold", gold, "--tune")["tuned"]
    assert tuned["aer"] <= before["aer"]
    assert len(tuned["heads"]) == 2 * (4 + 1) * 2
    assert len(tuned["readings"]) == 6
    assert 0 <= tuned["cross_validated"]["aer"] <= 1
    assert read_config(own).alignment == AlignmentMethod()
    run(attend, own, "--gold", gold, "--tune", "--record")
    assert read_config(own).alignment == AlignmentMethod(**tuned["method"])
    assert scores(attend, own, "--gold", gold)["aer"] == tuned["aer"]


def test_tuning_prints_its_trials(attend: Attend, own: Path, gold: Path) -> None:
    printed = run(attend, own, "--gold", gold, "--tune")
    for line in ("the best 10 of 20", "grow-diag", "intersection", "tuned on these pairs"):
        assert line in printed
    assert "cross-validated, each half tuned on the other: AER" in printed


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "Give one tab-separated FILE, or two files"),
        (["a", "b", "c"], "Give one tab-separated FILE, or two files"),
        (["a", "--tune"], "--tune needs --gold"),
        (["--gold", "x", "--record"], "--record needs --tune"),
        (["a", "--columns", "en,de"], "must name en and fr"),
    ],
)
def test_misuse(attend: Attend, tiny_checkpoint: Path, arguments: list[str], reason: str) -> None:
    result = attend("align", "--checkpoint", tiny_checkpoint, *arguments)
    assert result.exit_code == 2
    assert reason in result.stderr


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["0-0"], ": 1 line for 4 pairs"),
        (["0-0", "0=0", "", ""], ":2: '0=0' is not a link such as 0-0 or 1p2"),
        (["", "2p3", "", ""], ":2: links words 2 and 3, but the pair has 3 and 3, counted from 0"),
    ],
)
def test_unfit_gold(
    attend: Attend, own: Path, gold: Path, pairs: Path, lines: list[str], reason: str
) -> None:
    write(gold, lines)
    result = attend("align", "--checkpoint", own, "--gold", gold, pairs)
    assert result.exit_code == 1
    assert result.stderr == f"attend: {gold}{reason}\n"


def test_too_long_a_pair_is_named_by_its_line(attend: Attend, own: Path, tmp_path: Path) -> None:
    lines = ["A dog .\tUn chien .", "dog " * 200 + "\tUn chien ."]
    file = write(tmp_path / "long.tsv", lines)
    result = attend("align", "--checkpoint", own, file)
    assert result.exit_code == 1
    assert result.stdout.count("\n") == 1  # the previous line is printed
    assert result.stderr.startswith(f"attend: {file}:2: ")
    gold = write(tmp_path / "gold.links", ["", ""])
    result = attend("align", "--checkpoint", own, "--gold", gold, file)
    assert result.stderr.startswith(f"attend: {gold}:2: ")


def test_nothing_to_score(attend: Attend, own: Path, tmp_path: Path) -> None:
    empty = write(tmp_path / "none.links", [])
    result = attend("align", "--checkpoint", own, "--gold", empty, write(tmp_path / "a", []))
    assert result.exit_code == 1
    assert result.stderr == f"attend: {empty}: no pairs\n"
