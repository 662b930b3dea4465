"""Downloads: resuming, verification and failures."""

import errno
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest

from app.errors import PullError
from app.hub.download import download
from app.hub.listing import Listing, list_files
from app.hub.requests import RETRIES, Hub
from tests.app.hub.fake_hub import FakeHub

CONTENT = bytes(range(256)) * 40
FILES = {"model.safetensors": CONTENT, "config.json": CONTENT[:300], "empty.txt": b""}


@pytest.fixture
def fake() -> FakeHub:
    return FakeHub(dict(FILES), {"model.safetensors"})


def opened(fake: FakeHub) -> tuple[Hub, Listing]:
    hub = Hub("https://hub.test", "token", fake.transport(), fake.slept.append)
    listing = list_files(hub, fake.repository, "main")
    fake.requests.clear()
    return hub, listing


def fetch(fake: FakeHub, folder: Path, index: int = 0) -> Path:
    hub, listing = opened(fake)
    return download(hub, listing, listing.files[index], folder)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_file_is_there_afterwards_and_not_fetched_again(
    fake: FakeHub, tmp_path: Path, index: int
) -> None:
    path = fetch(fake, tmp_path, index)
    assert path.read_bytes() == list(FILES.values())[index]
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert fetch(fake, tmp_path, index) == path
    assert not fake.requests


def test_it_resumes_where_the_connection_broke(fake: FakeHub, tmp_path: Path) -> None:
    fake.cut_after = [1000, 3000, 500]
    path = fetch(fake, tmp_path)
    assert path.read_bytes() == CONTENT
    ranges = [request.headers.get("range") for request in fake.requests]
    assert ranges == [None, "bytes=1000-", "bytes=4000-", "bytes=4500-"]
    assert all(request.headers["accept-encoding"] == "identity" for request in fake.requests)


def test_progress_does_not_use_up_the_retries(fake: FakeHub, tmp_path: Path) -> None:
    fake.cut_after = [10] * (3 * RETRIES)
    assert fetch(fake, tmp_path).read_bytes() == CONTENT
    assert set(fake.slept) == {1.0}


def test_another_call_resumes_an_interrupted_download(fake: FakeHub, tmp_path: Path) -> None:
    fake.cut_after = [4000]
    gone = iter([False, *[True] * 99])

    def dies(_: httpx.Request) -> httpx.Response | None:
        return httpx.Response(503) if next(gone) else None

    hub, listing = opened(fake)
    fake.faults = dies
    with pytest.raises(PullError, match=r"model\.safetensors: .* 503; run the command again to r"):
        download(hub, listing, listing.files[0], tmp_path)
    fake.faults = lambda _: None
    reports: list[int] = []
    fake.requests.clear()
    path = download(hub, listing, listing.files[0], tmp_path, reports.append)
    assert path.read_bytes() == CONTENT
    assert [request.headers.get("range") for request in fake.requests] == ["bytes=4000-"]
    assert reports == [len(CONTENT)]


def test_a_short_answer_is_interrupted_and_not_an_end(fake: FakeHub, tmp_path: Path) -> None:
    fake.breaks = False
    fake.cut_after = [100]
    assert fetch(fake, tmp_path).read_bytes() == CONTENT
    assert len(fake.requests) == 2


def test_a_server_without_ranges_sends_the_whole_file(fake: FakeHub, tmp_path: Path) -> None:
    fake.ranges = False
    fake.cut_after = [100]
    assert fetch(fake, tmp_path).read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_downloaded_again(fake: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.part").write_bytes(CONTENT + b"more")
    assert fetch(fake, tmp_path).read_bytes() == CONTENT


def test_a_refused_range_is_downloaded_from_the_start(fake: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.part").write_bytes(CONTENT[:9])
    hub, listing = opened(fake)
    answers = [httpx.Response(416)]
    fake.faults = lambda _: answers.pop() if answers else None
    assert download(hub, listing, listing.files[0], tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("index", [0, 1])
def test_a_wrong_digest_is_deleted(fake: FakeHub, tmp_path: Path, index: int) -> None:
    name = list(FILES)[index]
    fake.served[name] = FILES[name][:-1] + b"!"
    with pytest.raises(PullError, match=rf"{name} has the digest .*…, not .*…, as|as announced"):
        fetch(fake, tmp_path, index)
    assert list(tmp_path.iterdir()) == []
    fake.served.clear()
    assert fetch(fake, tmp_path, index).read_bytes() == FILES[name]


def test_a_damaged_part_is_found_out(fake: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.part").write_bytes(b"?" * 1000)
    with pytest.raises(PullError, match="digest"):
        fetch(fake, tmp_path)
    assert fetch(fake, tmp_path).read_bytes() == CONTENT


def test_a_damaged_file_is_fetched_again(fake: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(CONTENT[:-1] + b"!")
    assert fetch(fake, tmp_path).read_bytes() == CONTENT


def test_an_endless_answer_is_ended(fake: FakeHub, tmp_path: Path) -> None:
    fake.served["model.safetensors"] = CONTENT + b"more"
    with pytest.raises(PullError, match=r"longer than 10,240 bytes"):
        fetch(fake, tmp_path)


def test_a_full_disk_is_one_line_and_the_part_stays(
    fake: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.safetensors.part").write_bytes(CONTENT[:100])
    whole = Path.open

    class FullDisk:
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def write(self, _: bytes) -> NoReturn:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(
        Path,
        "open",
        lambda self, mode="r", **k: FullDisk() if mode == "ab" else whole(self, mode, **k),
    )
    with pytest.raises(PullError, match="no space left; free some and run the command again"):
        fetch(fake, tmp_path)
    assert (tmp_path / "model.safetensors.part").stat().st_size == 100
