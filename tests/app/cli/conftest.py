from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli.main import main

Attend = Callable[..., Result]


@pytest.fixture
def attend(monkeypatch: pytest.MonkeyPatch) -> Attend:
    """Runs `attend` with arguments and standard input in this process."""
    monkeypatch.delenv("ATTEND_CHECKPOINT", raising=False)

    def run(*arguments: str | Path, stdin: str | bytes = "") -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)

    return run
