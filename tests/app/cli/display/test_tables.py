import pytest

from app.cli.display.tables import SHOWN_HEADS, describe_method, print_heads, print_readings
from model.alignment.from_attention import AlignmentMethod
from model.alignment.gold import AlignmentScores, Trial

SCORES = AlignmentScores(aer=0.0754, precision=0.9, recall=1.0)


def test_a_method_is_described_in_one_line() -> None:
    assert describe_method(AlignmentMethod()) == (
        "layer last, head mean, producing position, one direction, argmax, threshold 0"
    )
    method = AlignmentMethod(
        layer=0, head=3, position="reading", both_directions=True, symmetrisation="grow-diag",
        threshold=0.05,
    )  # fmt: skip
    assert describe_method(method) == (
        "layer 0, head 3, reading position, both directions, grow-diag, threshold 0.05"
    )


def test_the_best_heads_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    trials = [
        Trial(AlignmentMethod(layer=7, head=head + 20), SCORES) for head in range(SHOWN_HEADS + 2)
    ]
    print_heads(trials)
    output = capsys.readouterr().out
    assert f"the best {SHOWN_HEADS} of {SHOWN_HEADS + 2}" in " ".join(output.split())
    assert str(20 + SHOWN_HEADS - 1) in output
    assert str(20 + SHOWN_HEADS) not in output


def test_readings_name_directions_links_and_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    both = AlignmentMethod(both_directions=True, symmetrisation="intersection", threshold=0.1)
    print_readings([Trial(both, SCORES), Trial(AlignmentMethod(), SCORES)])
    output = capsys.readouterr().out
    for word in ("both", "intersection", "0.1", "one", "argmax", "0.075"):
        assert word in output
