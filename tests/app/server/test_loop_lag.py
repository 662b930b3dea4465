import asyncio
import time

from app.server.load_shedding import INTERVAL, MAX_LAG, SUSTAINED, LoopLag
from tests.app.waiting import until


async def hold_up() -> None:
    """For longer than may be; and then let the loop look once."""
    time.sleep(MAX_LAG + INTERVAL + 0.02)
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_a_moment_is_forgiven_a_row_is_not_and_it_passes() -> None:
    lag = LoopLag()
    lag.start()
    await asyncio.sleep(0.05)
    assert not lag.sustained
    for _ in range(SUSTAINED - 1):
        await hold_up()
    assert not lag.sustained
    await hold_up()
    assert lag.sustained
    await until(lambda: not lag.sustained)
    lag.stop()


async def test_it_stops() -> None:
    lag = LoopLag()
    lag.stop()  # before it began
    lag.start()
    lag.stop()
    for _ in range(SUSTAINED):
        await hold_up()
    assert not lag.sustained
