import pytest

from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import MarianRule
from model.engine.cpu.forward.slots import MAX_BEAM
from model.engine.protocol import Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import check_empty, cpu_engine
from tests.model.engine.jobs import limited

pytestmark = pytest.mark.usefixtures("impatient")
GREEDY = SearchOptions(beam_size=1)


@pytest.mark.parametrize(
    ("source", "options", "named"),
    [
        ((), GREEDY, "0 source tokens: 1 … 40"),
        ((5,) * 41, GREEDY, "41 source tokens"),
        ((5, 150, 1), GREEDY, "a source id outside the vocabulary of 150"),
        ((5, -1, 1), GREEDY, "a source id outside"),
        ((5, 1), SearchOptions(beam_size=MAX_BEAM + 1), "beam_size 33: at most 32"),
        ((5, 1), SearchOptions(rule=MarianRule(150)), "a target id outside the vocabulary of 150"),
    ],
)
def test_jobs_beyond_the_kernels_limits_are_refused(
    model: Transformer, source: tuple[int, ...], options: SearchOptions, named: str
) -> None:
    engine = cpu_engine(model, "int8")
    with pytest.raises(ValueError, match=named):
        engine.admit([limited(0, 3), Job(1, source, options)])
    check_empty(engine)
    engine.admit([limited(0, 3)])
    with pytest.raises(ValueError, match=named):
        engine.admit([Job(1, source, options)])
    assert [done.job_id for done in engine.step()] == [0]
    check_empty(engine)
