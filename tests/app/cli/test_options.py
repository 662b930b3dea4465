import pytest

from app.cli.options import source_column


@pytest.mark.parametrize(
    ("columns", "direction", "expected"),
    [
        (None, ("en", "fr"), 0),
        (None, ("fr", "en"), 1),
        (None, ("en", "pt-BR"), 0),
        (None, ("zh-Hans", "pt-BR"), 1),
        ("zh-hans,PT-BR", ("zh-Hans", "pt-BR"), 0),
        ("pt-BR,zh-Hans", ("zh-Hans", "pt-BR"), 1),
    ],
)
def test_the_source_has_a_column(
    columns: str | None, direction: tuple[str, str], expected: int
) -> None:
    assert source_column(columns, direction) == expected
