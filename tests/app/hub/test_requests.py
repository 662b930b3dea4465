"""Errors and retries of requests to the hub, tested by listing a repository."""

from typing import Any

import httpx
import pytest

from app.errors import PullError
from app.hub.listing import RemoteFile, list_files
from app.hub.requests import RETRIES, Hub
from tests.app.hub.fake_hub import COMMIT, FakeHub
from tests.cases import cases

NAME = "Helsinki-NLP/opus-mt-en-fr"


def hub_of(fake: FakeHub, token: str | None = None) -> Hub:
    return Hub("https://hub.test/", token, fake.transport(), fake.slept.append)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    for name in ("HF_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return FakeHub({"config.json": b"{}", "model.safetensors": b"weights"}, {"model.safetensors"})


def test_the_listing_has_sizes_and_digests(fake: FakeHub) -> None:
    listing = list_files(hub_of(fake), NAME, "main")
    assert (listing.revision, listing.licence) == (COMMIT, "cc-by-4.0")
    config, weights = listing.files
    # printf '{}' | git hash-object --stdin
    assert config == RemoteFile(
        "config.json", 2, "9e26dfeeb6e641a33dae4961196235bdb965b21b", is_lfs=False
    )
    # printf 'weights' | sha256sum
    assert (weights.size, weights.is_lfs) == (7, True)
    assert weights.digest == "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c"


def test_the_endpoint_and_the_token_are_of_the_environment(
    fake: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.test/hub/")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub = Hub(transport=fake.transport())
    fake.faults = lambda _: httpx.Response(200, json=fake.info())
    list_files(hub, NAME, "main")
    [request] = fake.requests
    assert str(request.url).startswith(f"https://mirror.test/hub/api/models/{NAME}/revision/main")
    assert request.headers["Authorization"] == "Bearer hf_secret"


def test_the_token_does_not_follow_a_redirect_to_another_host(fake: FakeHub) -> None:
    def redirected(request: httpx.Request) -> httpx.Response | None:
        if request.url.host == "hub.test":
            return httpx.Response(302, headers={"Location": "https://cdn.test/file"})
        return httpx.Response(200, json=fake.info())

    fake.faults = redirected
    list_files(hub_of(fake, "hf_secret"), NAME, "main")
    assert ["Authorization" in request.headers for request in fake.requests] == [True, False]


@pytest.mark.parametrize(
    ("status", "code", "token", "message"), cases(__file__, "each_refusal_names_the_next_step")
)
def test_each_refusal_names_the_next_step(
    fake: FakeHub, status: int, code: str, token: str | None, message: str
) -> None:
    headers = {"X-Error-Code": code} if code else {}
    fake.faults = lambda _: httpx.Response(status, headers=headers)
    with pytest.raises(PullError, match=message) as refused:
        list_files(hub_of(fake, token), NAME, "main")
    assert str(refused.value).startswith(f"{NAME}: ")
    assert len(fake.requests) == 1
    assert not fake.slept


def test_transient_answers_are_retried_and_retry_after_is_respected(fake: FakeHub) -> None:
    answers = [httpx.Response(503), httpx.Response(429, headers={"Retry-After": "7"})]
    fake.faults = lambda _: answers.pop() if answers else None
    assert list_files(hub_of(fake), NAME, "main").files
    assert fake.slept == [7.0, 2.0]


@pytest.mark.parametrize("status", [429, 502])
def test_retries_of_a_failing_hub_are_limited(fake: FakeHub, status: int) -> None:
    fake.faults = lambda _: httpx.Response(status)
    with pytest.raises(PullError, match=f"answered {status}; run the command again"):
        list_files(hub_of(fake), NAME, "main")
    assert len(fake.requests) == RETRIES + 1


def test_a_missing_network_is_reported(fake: FakeHub) -> None:
    def unreachable(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route")

    fake.faults = unreachable
    with pytest.raises(PullError, match=r"the network failed \([^ ]+: no route\); run"):
        list_files(hub_of(fake), NAME, "main")
    assert len(fake.requests) == RETRIES + 1


def test_a_redirect_loop_is_reported(fake: FakeHub) -> None:
    fake.faults = lambda request: httpx.Response(302, headers={"Location": str(request.url)})
    with pytest.raises(PullError, match="redirects in a circle"):
        list_files(hub_of(fake), NAME, "main")


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>Log in to the WiFi</html>"),
        httpx.Response(200, json=["no"]),
        httpx.Response(200, json={"sha": COMMIT}),
    ],
)
def test_the_answer_of_another_service_is_reported(fake: FakeHub, answer: httpx.Response) -> None:
    fake.faults = lambda _: answer
    with pytest.raises(PullError, match=r"not as the hub does; check HF_ENDPOINT"):
        list_files(hub_of(fake), NAME, "main")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sha": "main"}, "commit 'main' is not a commit"),
        ({"siblings": [{"rfilename": "../../.profile", "size": 1, "blobId": "0"}]}, "file called"),
        ({"siblings": [{"rfilename": "/etc/passwd", "size": 1, "blobId": "0"}]}, "file called"),
        ({"siblings": [{"rfilename": "config.json"}]}, "no size or no digest of .config.json"),
    ],
)
def test_a_listing_that_cannot_be_trusted_is_refused(
    fake: FakeHub, change: dict[str, Any], message: str
) -> None:
    fake.faults = lambda _: httpx.Response(200, json=fake.info() | change)
    with pytest.raises(PullError, match=message):
        list_files(hub_of(fake), NAME, "main")


@pytest.mark.parametrize("endpoint", ["hub.test", "ftp://hub.test", "http://", "http://[::"])
def test_an_endpoint_that_is_not_an_address_is_refused(endpoint: str) -> None:
    with pytest.raises(PullError, match="HF_ENDPOINT"):
        Hub(endpoint)
