"""A fake model that copies its source with wrong numbers."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from model.decoding.hypothesis import Hypothesis
from model.engine.protocol import Finished, Job
from model.text.tokenizer import Tokenizer
from tests.app.fake_engine import FakeEngine


def incremented(text: str) -> str:
    """Replace every number except stand-ins."""
    return re.sub(r"\d+", lambda number: str(int(number[0]) + (int(number[0]) < 4000)), text)


def no_digits(text: str) -> str:
    """Remove digits and stand-ins for numbers."""
    return re.sub(r"[\d{}]", "", text)


def one_number(text: str) -> str:
    """Replace every number and stand-in by 43."""
    return re.sub(r"\d+|\{\w*\}", "43", text)


@dataclass
class GarblingEngine(FakeEngine):
    """Answers with the source changed by `garbled`, in a checkpoint's tokens."""

    folder: Path = Path()
    garbled: Callable[[str], str] = incremented

    def __post_init__(self) -> None:
        self._codec = Tokenizer.load(self.folder / "sentencepiece.model")

    def step(self) -> list[Finished]:
        jobs = {job.id: job for job, _ in self._left.values()}
        return [Finished(one.job_id, self._answer(jobs[one.job_id])) for one in super().step()]

    def _answer(self, job: Job) -> list[Hypothesis]:
        text = self.garbled(self._codec.decode(job.source_ids[:-1]))
        ids = tuple(token.id for token in self._codec.tokenize(text))
        return [Hypothesis(ids, (-0.1,) * (len(ids) + 1), -0.1, capped=False)]
