import torch

from model.training.update.memory import flushed_denormals


def test_numbers_below_the_smallest_normal_one_are_zero_meanwhile() -> None:
    shrinking = torch.full((64,), 1e-38)
    with flushed_denormals():
        assert not (shrinking * 0.5).any()
    assert (shrinking * 0.5).all()
