"""Three Ray nodes on this machine: `pytest -m cluster`, about two minutes.

Tests correctness, not speed: the nodes share the machine's cores.
"""

import asyncio
import os
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("kernels"),
]

ROOT = Path(__file__).resolve().parents[3]
QUICK = {"text": "The cat sees the house.", "target": "fr", "beam_size": 1}
SLOW = {"text": ["the cat sees the old dog " * 8] * 30, "target": "fr", "beam_size": 8}
WORDS = [f"{first}{second}" for first in "abcdefgh" for second in "aeiou"]
N_NODES = 3
N_WORKERS = 8
CONTROL_LOOP = 30
"""Seconds for Ray to notice changes and start replicas."""


@dataclass
class Cluster:
    """A head without CPUs for replicas, with controller and proxy, and nodes with one CPU each."""

    ray_cluster: Any
    nodes: list[Any]
    url: str
    fleet: dict[str, Any]

    def deploy(self, **changed: Any) -> None:
        from ray import serve

        from deploy.ray.attend_serve import Fleet, build

        serve.run(build(Fleet.model_validate(self.fleet | changed)), name="attend")

    def n_running(self) -> int:
        from ray import serve

        [deployment] = serve.status().applications["attend"].deployments.values()
        running: int = deployment.replica_states.get("RUNNING", 0)
        return running


@pytest.fixture(scope="module")
def cluster(tiny_checkpoint: Path) -> Iterator[Cluster]:
    import ray
    from ray import serve
    from ray.cluster_utils import Cluster as RayCluster

    os.environ["PYTHONPATH"] = str(ROOT)  # inherited by the nodes and their workers
    small = {"object_store_memory": 80_000_000, "include_dashboard": False}
    ray_cluster = RayCluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    nodes = [
        ray_cluster.add_node(num_cpus=1, object_store_memory=80_000_000) for _ in range(N_NODES)
    ]
    ray.init(ray_cluster.address, log_to_driver=False)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    try:
        serve.start(
            proxy_location="HeadOnly",
            http_options={"host": "127.0.0.1", "port": port, "request_timeout_s": 60},
        )
        fleet = {
            "min_replicas": N_NODES, "max_replicas": N_NODES, "cores_per_replica": 1,
            "settings": {"checkpoint": str(tiny_checkpoint)},
        }  # fmt: skip
        made = Cluster(ray_cluster, nodes, f"http://127.0.0.1:{port}", fleet)
        made.deploy()
        yield made
    finally:
        serve.shutdown()
        ray.shutdown()
        ray_cluster.shutdown()


@dataclass
class Load:
    """A closed loop of clients."""

    url: str
    body: dict[str, Any] = field(default_factory=lambda: QUICK)
    statuses: Counter[int] = field(default_factory=Counter)
    stop: bool = False

    async def run(self, meanwhile: Callable[[], Awaitable[None]]) -> None:
        limits = httpx.Limits(max_connections=N_WORKERS)
        async with httpx.AsyncClient(base_url=self.url, timeout=60, limits=limits) as client:
            workers = [asyncio.create_task(self._ask(client)) for _ in range(N_WORKERS)]
            try:
                await asyncio.sleep(2)
                await meanwhile()
                await asyncio.sleep(2)
            finally:
                self.stop = True
                await asyncio.gather(*workers)

    async def _ask(self, client: httpx.AsyncClient) -> None:
        while not self.stop:
            try:
                status = (await client.post("/translate", json=self.body)).status_code
            except httpx.TransportError:
                status = 0
            self.statuses[status] += 1
            if status != httpx.codes.OK:
                await asyncio.sleep(0.1)


async def until(condition: Callable[[], bool], seconds: float = CONTROL_LOOP) -> float:
    """Wait for a condition; return the seconds that it took."""
    began = time.monotonic()
    while not await asyncio.to_thread(condition):
        assert time.monotonic() - began < seconds
        await asyncio.sleep(0.2)
    return time.monotonic() - began


def test_requests_are_spread_over_the_nodes_and_answered_as_by_the_server(cluster: Cluster) -> None:
    assert cluster.n_running() == N_NODES
    with httpx.Client(base_url=cluster.url, timeout=60) as client:
        answer = client.post("/translate", json=QUICK)
        wrong = client.post("/translate", json={"txt": "a"})
        probe = client.get("/readyz")
    assert answer.json()["model"] == "tiny"
    assert answer.headers["X-Request-ID"]
    assert wrong.status_code == 422
    assert wrong.headers["Content-Type"] == "application/problem+json"
    assert probe.json() == {"status": "ok"}


def test_a_stream_arrives_while_it_is_translated(cluster: Cluster) -> None:
    text = " ".join(f"The {word} cat sees the old dog and the house." for word in WORDS)
    body = {"text": text, "target": "fr", "beam_size": 8, "stream": True}
    came: list[float] = []
    events: list[str] = []
    with (
        httpx.Client(base_url=cluster.url, timeout=60) as client,
        client.stream("POST", "/translate", json=body) as response,
    ):
        assert response.headers["Content-Type"].startswith("text/event-stream")
        for line in response.iter_lines():
            if line.startswith("event:"):
                came.append(time.monotonic())
                events.append(line.partition(": ")[2])
    assert events.count("segment") == len(WORDS)
    assert events[-1] == "done"
    assert len({round(at, 2) for at in came}) > 3


def test_a_rolling_redeploy_fails_no_request(cluster: Cluster) -> None:
    load = Load(cluster.url)

    async def redeploy() -> None:
        settings = cluster.fleet["settings"] | {
            "max_texts": 100
        }  # new settings restart all replicas
        await asyncio.to_thread(cluster.deploy, settings=settings)

    asyncio.run(load.run(redeploy))
    assert set(load.statuses) == {200}
    assert load.statuses[200] > N_WORKERS


def test_a_flood_is_answered_429_or_503_and_not_by_timeouts(cluster: Cluster) -> None:
    cluster.deploy(target_ongoing_requests=1, max_ongoing_requests=2, max_queued_requests=4)

    async def flood() -> Counter[int]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(base_url=cluster.url, timeout=60, limits=limits) as client:
            answers = await asyncio.gather(
                *(client.post("/translate", json=SLOW) for _ in range(100))
            )
            assert all("Retry-After" in one.headers for one in answers if one.status_code == 429)
            return Counter(answer.status_code for answer in answers)

    statuses = asyncio.run(flood())
    assert set(statuses) <= {200, 429, 503}
    assert statuses[200] >= 2 * N_NODES
    assert statuses[429] + statuses[503] > 0
    cluster.deploy()


def test_more_load_starts_more_replicas(cluster: Cluster) -> None:
    cluster.deploy(
        min_replicas=1, target_ongoing_requests=2, look_back=11, upscale_delay=0, downscale_delay=0
    )
    load = Load(cluster.url, SLOW)

    async def grow() -> None:
        await until(lambda: cluster.n_running() == N_NODES, 2 * CONTROL_LOOP)

    asyncio.run(until(lambda: cluster.n_running() == 1, 2 * CONTROL_LOOP))
    asyncio.run(load.run(grow))
    assert set(load.statuses) == {200}
    cluster.deploy()


def test_a_dead_node_loses_only_requests_in_flight_and_returns(cluster: Cluster) -> None:
    asyncio.run(until(lambda: cluster.n_running() == N_NODES, 2 * CONTROL_LOOP))
    victim = cluster.nodes.pop()
    cluster.nodes.append(cluster.ray_cluster.add_node(num_cpus=1))  # a node to move to
    load = Load(cluster.url)
    killed_at = recovery = 0.0

    async def kill() -> None:
        nonlocal killed_at, recovery
        killed_at = time.monotonic()
        await asyncio.to_thread(cluster.ray_cluster.remove_node, victim, allow_graceful=False)
        await until(lambda: cluster.n_running() < N_NODES)
        await until(lambda: cluster.n_running() == N_NODES)
        recovery = time.monotonic() - killed_at

    asyncio.run(load.run(kill))
    n_failed = sum(count for status, count in load.statuses.items() if status != httpx.codes.OK)
    assert n_failed <= N_WORKERS  # the maximum number in flight
    assert recovery <= CONTROL_LOOP
    print(f"\n{dict(load.statuses)}, recovered after {recovery:.1f} s")  # noqa: T201
