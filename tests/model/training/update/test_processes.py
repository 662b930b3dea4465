"""Two processes connected by Gloo, as started by `torchrun`."""

import os
import signal
import socket
import traceback
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.multiprocessing.spawn import (
    ProcessExitedException,
    ProcessRaisedException,
    start_processes,
)

from model.errors import TrainingError
from model.training.state import latest_state, step_of
from model.training.update.processes import ALONE, Processes
from tests.model.training.toy import Recorder, Workshop

CHANGES: dict[str, Any] = {
    "accumulate": 3,
    "optimizer": {"kind": "muon", "clip_norm": 1.0},
    "noise": {"join": 0.2},
    "loss_candidates": 40,
    "save_every": 2,
}
"""A recipe with everything random: dropout, noise and a sampled softmax."""


def test_shares_cover_every_item_once() -> None:
    for count in (1, 2, 3, 5):
        shares = [list(Processes(rank, count).share(7)) for rank in range(count)]
        assert sorted(place for share in shares for place in share) == list(range(7))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_single_process_exchanges_nothing() -> None:
    tensor = torch.arange(3.0)
    ALONE.add_up([tensor])
    ALONE.broadcast([tensor], 0)
    ALONE.wait()
    ALONE.leave()
    assert tensor.tolist() == [0.0, 1.0, 2.0]
    assert ALONE.is_first


def test_without_torchrun_there_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert Processes.from_environment(torch.device("cpu")) == ALONE


def test_half_of_torchruns_variables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(TrainingError, match=r"WORLD_SIZE is 2.*RANK.*start them with torchrun"):
        Processes.from_environment(torch.device("cpu"))


def test_more_processes_than_batches_of_an_update_are_refused(workshop: Workshop) -> None:
    with pytest.raises(TrainingError, match=r"has 2 batches \(accumulate\), too few for 3"):
        workshop.open(accumulate=2, processes=Processes(0, 3))


def train_share(rank: int, folder: Path, port: int, then: dict[str, Any]) -> None:
    """Run one of two processes; `then` yields the events and their steps."""
    os.environ |= {
        "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
    }  # fmt: skip
    torch.set_num_threads(1)
    processes = Processes.from_environment(torch.device("cpu"))

    def after(figures: dict[str, float]) -> None:
        if figures["step"] == then.get("stop_at") and rank == 1:
            trainer.stop_requested = True
        if figures["step"] == then.get("kill_at") and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    trainer = Workshop(folder).open(
        "run",
        reporter=Recorder(then=after),
        resume=then.get("resume", False),
        processes=processes,
        **CHANGES,
    )
    try:
        trainer.train()
    except TrainingError as error:
        (folder / f"error-{rank}.txt").write_text(str(error))
        traceback.print_exc()
        raise
    processes.leave()


def train_on_two(workshop: Workshop, **then: Any) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Both are forks of one process, since imports take longer than the training.
    get_context("forkserver").set_forkserver_preload([__name__])
    start_processes(train_share, (workshop.folder, port, then), nprocs=2, start_method="forkserver")


def assert_same_weights(workshop: Workshop) -> None:
    alone = workshop.open("alone", **CHANGES)
    alone.train()
    shared = workshop.open("run", resume=True, **CHANGES)
    assert shared.is_finished
    assert shared.counters.position == alone.counters.position
    assert shared.counters.tokens == alone.counters.tokens
    for (name, ours), theirs in zip(
        shared.model.named_parameters(), alone.model.parameters(), strict=True
    ):
        if not name.endswith("w_k.bias"):  # has no effect: its gradient is rounding alone
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5, msg=name)


def test_two_processes_train_like_one_even_if_one_dies(workshop: Workshop) -> None:
    with pytest.raises((ProcessExitedException, ProcessRaisedException)):
        train_on_two(workshop, kill_at=3)
    assert saved_step(workshop) == 2

    train_on_two(workshop, resume=True, stop_at=4)
    assert saved_step(workshop) == 5  # the next update stops the other process

    workshop.open("run", resume=True, **CHANGES).train()
    assert_same_weights(workshop)


def saved_step(workshop: Workshop) -> int:
    state = latest_state(workshop.folder / "run")
    assert state is not None
    return step_of(state)
