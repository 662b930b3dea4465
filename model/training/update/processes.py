"""The processes of one run, each of which computes a share of every update (data parallelism).

`torchrun` starts them and sets RANK, WORLD_SIZE and the rendezvous address. An update consists of
the same batches however many processes share it, so their number changes neither the recipe nor,
but for the rounding of sums, the outcome; a run can be resumed with another number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

from model.errors import TrainingError


@dataclass(frozen=True)
class Processes:
    """This process's rank, among `count` processes."""

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """True for the process that writes the run's files."""
        return self.rank == 0

    @staticmethod
    def from_environment(device: torch.device) -> Processes:
        """Join the processes that `torchrun` started, if it did. Raises `TrainingError`.

        The backend is NCCL between CUDA devices and Gloo otherwise.
        """
        count = os.environ.get("WORLD_SIZE", "1")
        if count == "1":
            return ALONE
        try:
            distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        except (ValueError, RuntimeError) as error:
            raise TrainingError(
                f"WORLD_SIZE is {count}, but the processes cannot be joined: "
                f"{str(error).splitlines()[0]}; start them with torchrun"
            ) from None
        return Processes(distributed.get_rank(), distributed.get_world_size())

    def share(self, length: int) -> range:
        """Return the indices of this process's items in a sequence: every `count`-th."""
        return range(self.rank, length, self.count)

    def wait(self) -> None:
        if self.count > 1:
            _checked(distributed.barrier)

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes, in one exchange."""
        if self.count == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        _checked(lambda: distributed.all_reduce(flat))
        _copy_from(flat, tensors)

    def broadcast(self, tensors: Sequence[Tensor], source: int) -> None:
        """Replace each tensor by that of process `source`, in one exchange."""
        if self.count == 1 or not tensors:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        _checked(lambda: distributed.broadcast(flat, source))
        if source != self.rank:
            _copy_from(flat, tensors)

    def leave(self) -> None:
        """End the exchange, once no other process needs this one."""
        if self.count > 1:
            distributed.destroy_process_group()


ALONE = Processes()
"""A run in a single process."""


def _copy_from(flat: Tensor, tensors: Sequence[Tensor]) -> None:
    parts = flat.split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


def _checked(exchange: Callable[[], object]) -> None:
    """Run an exchange; raise `TrainingError` if another process is gone."""
    try:
        exchange()
    except RuntimeError as error:
        raise TrainingError(
            f"another process of this run is gone ({str(error).splitlines()[0]}); "
            f"continue with --resume"
        ) from None
