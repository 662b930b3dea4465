import asyncio
from dataclasses import dataclass, replace

import pytest

from benchmarks.load import Load, Outcome, put, run
from benchmarks.server import Server, running


@dataclass
class FakeServer:
    """An HTTP server in the test's own loop; answers after `seconds`."""

    seconds: float = 0.0
    connections: int = 0
    requests: int = 0
    inside: int = 0
    most: int = 0
    open: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        while head := await self._head(reader):
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            self.requests += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
            await asyncio.sleep(self.seconds)
            self.inside -= 1
            status = b"429 Too Many Requests" if b"refuse" in body else b"200 OK"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\n{}")
            if b"leave" in body:
                break
        writer.close()
        self.open -= 1

    async def _head(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""


LOAD = Load(port=0, texts=["a"], fields={"target": "fr"}, seconds=0.3, warm_up=0.05)


def outcome_of(answering: FakeServer, load: Load) -> Outcome:
    async def both() -> Outcome:
        async with await asyncio.start_server(answering.serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            try:
                return await run(replace(load, port=port))
            finally:
                while answering.open:  # every connection was closed
                    await asyncio.sleep(0.001)

    return asyncio.run(both())


def test_a_closed_loop_has_as_many_requests_inside_as_clients() -> None:
    answering = FakeServer(seconds=0.02)
    outcome = outcome_of(answering, replace(LOAD, clients=3))
    assert answering.most == answering.connections == 3
    assert 20 <= outcome.p50 <= outcome.p95 <= outcome.p99
    assert 0 < outcome.per_second <= 151
    assert outcome.answered < answering.requests  # the warm-up does not count
    assert outcome.errors == {}


def test_a_closed_loop_may_end_by_the_number_of_requests() -> None:
    answering = FakeServer()
    load = replace(LOAD, clients=4, requests=50, seconds=60, warm_up=0)
    assert outcome_of(answering, load).answered == answering.requests == 50


def test_an_open_loop_does_not_wait_for_answers() -> None:
    answering = FakeServer(seconds=0.1)
    outcome = outcome_of(answering, replace(LOAD, rate=100.0, seconds=0.5))
    assert answering.most > 4
    assert outcome.p50 >= 100
    assert 4 < answering.requests < 100


def test_refusals_and_closed_connections_are_distinguished() -> None:
    answering = FakeServer()
    texts = ["a", "refuse", "leave"]
    load = replace(LOAD, texts=texts, clients=1, requests=30, warm_up=0)
    outcome = outcome_of(answering, load)
    assert outcome.errors.pop("429") == 10
    # A connection that the server closed is replaced; the request on it may be lost.
    assert sum(outcome.errors.values()) + outcome.answered == 20
    assert answering.connections >= 10


def test_without_answers_there_is_no_outcome() -> None:
    load = replace(LOAD, texts=["refuse"], clients=1, requests=5, warm_up=0)
    with pytest.raises(RuntimeError, match="'429': 5"):
        outcome_of(FakeServer(), load)


def test_a_load_is_closed_or_open() -> None:
    with pytest.raises(ValueError, match="neither clients nor a rate"):
        asyncio.run(run(LOAD))


def test_a_process_of_its_own_does_the_same(stub: Server) -> None:
    with running(stub) as one:
        load = replace(LOAD, port=one.port, clients=2, requests=20, seconds=10, warm_up=0)
        assert put(load).answered == 20
        with pytest.raises(RuntimeError, match="the load process failed"):
            put(replace(load, texts=["refuse"]))


def test_refusals_have_their_own_latency() -> None:
    answering = FakeServer(seconds=0.02)
    outcome = outcome_of(answering, replace(LOAD, texts=["a", "refuse"], clients=2))
    assert outcome.refused_p99 >= 20
    assert outcome.errors["429"] > 2
    assert outcome_of(FakeServer(), replace(LOAD, clients=1)).refused_p99 == 0


def test_a_late_client_is_reported() -> None:
    outcome = outcome_of(FakeServer(), replace(LOAD, rate=50.0))
    assert outcome.late_p99 > 0
    assert outcome_of(FakeServer(), replace(LOAD, clients=1)).late_p99 == 0
