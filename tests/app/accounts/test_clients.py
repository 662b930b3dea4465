import httpx
import pytest

from app.accounts.clients import EVERYONE, MAX_CLIENTS, Keys, RateLimit
from app.errors import MissingKeyError, RateLimitedError, WrongKeyError
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.scheduling.harness import FakeClock


def test_without_keys_clients_are_distinguished_by_address() -> None:
    keys = Keys([])
    assert not keys.needed
    one, other = keys.client(None, "10.0.0.1"), keys.client("whatever", "10.0.0.2")
    assert (one.account, other.account) == (EVERYONE, EVERYONE)
    assert one.turn != other.turn


def test_a_key_is_an_account_wherever_it_comes_from() -> None:
    keys = Keys(["old", "new"])
    assert keys.needed
    assert keys.client("old", "10.0.0.1") == keys.client("old", "10.0.0.2")
    assert keys.client("old", "10.0.0.1").account != keys.client("new", "10.0.0.1").account


@pytest.mark.parametrize("key", [None, ""])
def test_a_key_is_needed(key: str | None) -> None:
    with pytest.raises(MissingKeyError):
        Keys(["old"]).client(key, "10.0.0.1")


@pytest.mark.parametrize("key", ["older", "ol", "OLD", "old ", "é", "\ud800", "a" * 100_000])
def test_a_key_that_is_nearly_right_is_wrong(key: str) -> None:
    with pytest.raises(WrongKeyError):
        Keys(["old", "new"]).client(key, "10.0.0.1")


def test_no_representation_contains_a_key() -> None:
    keys = Keys(["hush-hush"])
    representations = repr(keys) + repr(vars(keys)) + repr(keys.client("hush-hush", "10.0.0.1"))
    assert "hush" not in representations


BODY = {"text": "cat", "target": "fr"}


def refused(limit: RateLimit, client: str, n: int = 1) -> int | None:
    """Seconds to wait if refused, else None."""
    try:
        limit.take(client, n)
    except RateLimitedError as error:
        return error.retry_after
    return None


def test_a_burst_of_one_minute_and_then_the_rate() -> None:
    clock = FakeClock()
    limit = RateLimit(6, "requests", clock)  # one in ten seconds
    assert [refused(limit, "a") for _ in range(7)] == [None] * 6 + [10]
    clock.now += 4
    assert refused(limit, "a") == 6
    clock.now += 6
    assert [refused(limit, "a") for _ in range(2)] == [None, 10]
    clock.now += 1000
    assert [refused(limit, "a") for _ in range(7)] == [None] * 6 + [10]


def test_a_request_larger_than_a_minutes_budget_is_admitted_and_delays_the_next() -> None:
    clock = FakeClock()
    limit = RateLimit(60, "characters", clock)
    assert refused(limit, "a", 90) is None
    assert refused(limit, "a", 1) == 31
    clock.now += 31
    assert refused(limit, "a", 1) is None
    assert refused(limit, "a", 90) == 60


def test_refused_requests_cost_nothing() -> None:
    clock = FakeClock()
    limit = RateLimit(60, "characters", clock)
    limit.take("a", 50)
    assert [refused(limit, "a", 30) for _ in range(3)] == [20] * 3
    assert refused(limit, "a", 10) is None


def test_clients_are_forgotten_before_they_fill_the_memory() -> None:
    limit = RateLimit(1, "requests", FakeClock())
    for number in range(MAX_CLIENTS + 1):
        limit.take(number, 1)
    assert len(limit._buckets) == MAX_CLIENTS
    assert refused(limit, "new") is None
    with pytest.raises(RateLimitedError):
        limit.take(MAX_CLIENTS, 1)


def test_without_a_limit_nothing_is_kept() -> None:
    limit = RateLimit(None, "requests")
    for number in range(100):
        limit.take(number, 10**9)
    assert not limit._buckets


async def test_further_requests_get_retry_after(serve: Serve) -> None:
    async with serve(FakeEngine(), requests_per_minute=2) as client:
        answers = [await client.post("/translate", json=BODY) for _ in range(3)]
        metrics = (await client.get("/metrics")).text
        assert (await client.get("/readyz")).status_code == httpx.codes.OK
    assert [answer.is_success for answer in answers] == [True, True, False]
    assert answers[2].status_code == 429
    assert 20 <= int(answers[2].headers["Retry-After"]) <= 30  # allow for a busy machine
    assert 'attend_request_rejected_total{reason="rate-limited"} 1.0' in metrics


async def test_characters_are_counted_over_all_texts(serve: Serve) -> None:
    async with serve(FakeEngine(), characters_per_minute=10) as client:
        body = {"text": ["cat", "cat"], "target": "fr"}
        answers = [await client.post("/translate", json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].json()["detail"] == "the limit is 10 characters per minute"
    assert answers[1].headers["Retry-After"] == "12"


async def test_each_key_has_its_own_limits(serve: Serve) -> None:
    async with serve(FakeEngine(), requests_per_minute=1, api_keys="one,two") as client:
        codes = []
        for key in ("one", "two", "one", "two"):
            headers = {"Authorization": f"Bearer {key}"}
            codes.append((await client.post("/translate", json=BODY, headers=headers)).status_code)
    assert codes == [200, 200, 429, 429]
