import asyncio
import threading

import httpx

from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.waiting import until


async def test_a_slow_warm_up_says_nothing_of_the_pace(serve: Serve) -> None:
    """The forecast would otherwise refuse the first burst after a start."""
    gate = threading.Semaphore(0)
    engine = FakeEngine(n_slots=1, gate=gate)
    threading.Timer(0.2, gate.release).start()
    async with serve(engine) as client:
        scheduler = client._transport.app.state.lifecycle.started.shelf.models[0].scheduler  # type: ignore[attr-defined]
        asked = asyncio.create_task(client.post("/translate", json={"text": "a", "target": "fr"}))
        await until(lambda: scheduler.load.in_flight == 1)
        forecast = scheduler.forecast()
        gate.release()
        assert (await asked).status_code == httpx.codes.OK
    assert forecast == 0
