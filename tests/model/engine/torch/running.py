"""Builds and runs torch engines."""

from collections.abc import Sequence

import torch

from model.decoding.constrained import constrained_search
from model.decoding.constraints import PieceEdges
from model.decoding.hypothesis import Hypothesis, Outcome
from model.engine.protocol import Job
from model.engine.torch.engine import TorchEngine
from model.engine.torch.graphs import Capture
from model.transformer.transformer import Transformer
from tests.model.engine.jobs import reference


def torch_engine(
    model: Transformer,
    max_batch_tokens: int = 16_384,
    edges: PieceEdges | None = None,
    capture: Capture | None = None,
) -> TorchEngine:
    return TorchEngine(model, max_batch_tokens, edges, capture)


def expected_hypotheses(
    model: Transformer, job: Job, edges: PieceEdges | None = None
) -> list[Hypothesis]:
    """Return the hypotheses of the reference engine, with or without terms."""
    if not job.options.constraints:
        return reference(model, job)
    edges = edges or PieceEdges.none(model.config.target_vocab_size)
    return constrained_search(model, torch.tensor([job.source_ids]), job.options, edges)


def tokens_of(outcomes: dict[int, Outcome]) -> dict[int, list[tuple[int, ...]]]:
    """Return the tokens of all hypotheses."""
    return {
        job_id: [one.ids for one in outcome]
        for job_id, outcome in outcomes.items()
        if isinstance(outcome, list)
    }


def token_by_token(engine: TorchEngine) -> dict[int, Outcome]:
    """Run the admitted jobs, interrupting every step."""
    outcomes: dict[int, Outcome] = {}
    while engine.busy:
        engine.interrupt()
        outcomes |= dict(engine.step())
    return outcomes


def slots_in_use(engine: TorchEngine) -> Sequence[int]:
    """Return the slots of the next step of each batch."""
    return [batch._slots.n_used for batch in engine._batches.values() if batch]
