import resource

import pytest
from structlog.testing import capture_logs

from app.server.process import RESERVED, affordable_connections

FOREVER = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("limits", "n_open", "allowed", "soft_after"),
    [
        ((1024, 4096), 10, 1000, 1000 + 10 + 16 + RESERVED),
        ((1024, FOREVER), 10, 1000, 1000 + 10 + 16 + RESERVED),
        ((65_536, 65_536), 10, 1000, None),
        ((FOREVER, FOREVER), 10, 1000, None),
        ((64, 64), 10, 64 - 10 - 16 - RESERVED, 64),
        ((64, 100), 10, 100 - 10 - 16 - RESERVED, 100),
        ((20, 20), 10, 1, 20),
    ],
)
def test_connections_follow_the_limit_on_open_files(
    limits: tuple[int, int],
    n_open: int,
    allowed: int,
    soft_after: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, to: changed.append(to))
    monkeypatch.setattr("os.listdir", lambda _: [""] * n_open)
    with capture_logs() as logged:
        assert affordable_connections(1000, n_listening=16) == allowed
    assert [soft for soft, _ in changed] == ([] if soft_after is None else [soft_after])
    assert [line["max_connections"] for line in logged] == ([allowed] if allowed < 1000 else [])
