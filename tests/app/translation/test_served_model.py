import asyncio
import threading
from pathlib import Path

import httpx
import numpy as np
import pytest

from app.errors import InvalidRequestError
from app.translation.requests import Generation, TranslationOptions
from app.translation.served_model import ModelProfile
from model.checkpoint.config import read_config
from model.decoding.processors import LogitsProcessors
from model.decoding.shortlist import Shortlist
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.waiting import until


async def test_a_slow_warm_up_does_not_count_for_the_pace(serve: Serve) -> None:
    """The forecast would otherwise refuse the first burst after a start."""
    gate = threading.Semaphore(0)
    engine = FakeEngine(n_slots=1, gate=gate)
    threading.Timer(0.2, gate.release).start()
    async with serve(engine) as client:
        scheduler = client._transport.app.state.lifecycle.started.shelf.models[0].scheduler  # type: ignore[attr-defined]
        request = asyncio.create_task(client.post("/translate", json={"text": "a", "target": "fr"}))
        await until(lambda: scheduler.load.in_flight == 1)
        forecast = scheduler.forecast()
        gate.release()
        assert (await request).status_code == httpx.codes.OK
    assert forecast == 0


def test_the_request_changes_the_processors_of_the_checkpoint(tiny_checkpoint: Path) -> None:
    own = LogitsProcessors(1, 3, 1.2, ((5,),))
    config = read_config(tiny_checkpoint).model_copy(update={"logits_processors": own})
    profile = ModelProfile(config)
    assert profile.search_options(TranslationOptions(), "fr").processors == own
    given = Generation(min_length=4, repetition_penalty=1.0, temperature=0.7, seed=9)
    found = profile.search_options(TranslationOptions(generation=given), "fr")
    assert found.processors == LogitsProcessors(4, 3, 1.0, ((5,),))
    assert (found.beam_size, found.temperature, found.seed) == (1, 0.7, 9)
    with pytest.raises(InvalidRequestError) as refused:
        profile.search_options(TranslationOptions(beam_size=2, generation=given), "fr")
    assert [fault.pointer for fault in refused.value.errors] == ["/temperature"]


@pytest.mark.parametrize("requested", [None, False, True])
@pytest.mark.parametrize("default", [None, False, True])
def test_the_request_or_else_the_checkpoint_decides_whether_the_shortlist_is_used(
    tiny_checkpoint: Path, default: bool | None, requested: bool | None
) -> None:
    config = read_config(tiny_checkpoint).model_copy(update={"shortlist": default})
    shortlist = Shortlist(2, np.zeros(2, np.uint64), np.zeros(0, np.uint32), 8, is_shared=False)
    profile = ModelProfile(config, None if default is None else shortlist)
    found = profile.search_options(TranslationOptions(shortlist=requested), "fr").shortlist
    is_used = default if requested is None else requested and default is not None
    assert found is (shortlist if is_used else None)
    assert profile.scoring_options("fr", None).shortlist is None
