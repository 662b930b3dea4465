from __future__ import annotations

import pytest
import torch

from model.device import pick_device
from model.errors import ConfigError


def with_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


@pytest.mark.parametrize(("gpus", "picked"), [(0, "cpu"), (1, "cuda")])
def test_auto_takes_a_gpu_if_there_is_one(
    monkeypatch: pytest.MonkeyPatch, gpus: int, picked: str
) -> None:
    with_gpus(monkeypatch, gpus)
    assert pick_device("auto") == torch.device(picked)


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:1"])
def test_a_named_device_is_taken(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with_gpus(monkeypatch, 2)
    assert pick_device(name) == torch.device(name)


@pytest.mark.parametrize(
    ("name", "gpus", "reason"),
    [
        ("cuda", 0, "device 'cuda': no usable GPU; use auto or cpu"),
        ("cuda:2", 2, "device 'cuda:2': there are 2 GPUs, counted from 0"),
        ("quantum", 1, "device 'quantum' is not known; use auto, cpu or cuda"),
        ("", 1, "device '' is not known"),
        ("cuda:x", 1, "device 'cuda:x' is not known"),
        ("CPU", 1, "device 'CPU' is not known"),
        ("meta", 1, "device 'meta' is not supported; use auto, cpu or cuda"),
        ("mps", 1, "device 'mps' is not supported; use auto, cpu or cuda"),
    ],
)
def test_a_bad_device_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, gpus: int, reason: str
) -> None:
    with_gpus(monkeypatch, gpus)
    with pytest.raises(ConfigError) as caught:
        pick_device(name)
    assert str(caught.value).startswith(reason)
    assert "\n" not in str(caught.value)
