import os
from pathlib import Path

import pytest
import torch

from model.engine import device
from model.engine.device import pick_device, pick_devices, usable_cores
from model.errors import ConfigError
from tests.cases import cases


def with_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(device, "_has_driver", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


@pytest.mark.parametrize(("gpus", "picked"), [(0, "cpu"), (1, "cuda")])
def test_auto_takes_a_gpu_if_any(monkeypatch: pytest.MonkeyPatch, gpus: int, picked: str) -> None:
    with_gpus(monkeypatch, gpus)
    assert pick_device("auto") == picked


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:1"])
def test_a_named_device_is_taken(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with_gpus(monkeypatch, 2)
    assert pick_device(name) == name


@pytest.mark.parametrize(("name", "gpus", "reason"), cases(__file__, "bad_devices"))
def test_bad_devices(monkeypatch: pytest.MonkeyPatch, name: str, gpus: int, reason: str) -> None:
    with_gpus(monkeypatch, gpus)
    with pytest.raises(ConfigError) as caught:
        pick_device(name)
    assert str(caught.value).startswith(reason)
    assert "\n" not in str(caught.value)


def test_several_devices_are_taken_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, 3)
    assert pick_devices("cuda:2,cuda:0") == ("cuda:2", "cuda:0")
    assert pick_devices("auto") == ("cuda",)
    assert pick_devices("cpu") == ("cpu",)


@pytest.mark.parametrize("kind", ["xpu", "mps"])
def test_gpus_of_other_makers_are_taken_by_name(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(device, "_has_driver", lambda: False)
    module = torch.xpu if kind == "xpu" else torch.backends.mps
    monkeypatch.setattr(module, "is_available", lambda: True)
    monkeypatch.setattr(torch.xpu, "device_count", lambda: 2)
    assert pick_device(kind) == kind
    assert pick_device("auto") == "cpu"
    if kind == "xpu":
        assert pick_devices("xpu:0,xpu:1") == ("xpu:0", "xpu:1")


def test_torch_is_not_queried_without_a_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", pytest.fail)
    monkeypatch.setattr(device, "_DRIVERS", ("libnone.so",))
    monkeypatch.setattr(device, "AMD_DEVICE", tmp_path / "missing")
    assert pick_device("auto") == "cpu"
    with pytest.raises(ConfigError, match="no usable GPU"):
        pick_device("cuda")


@pytest.mark.parametrize("amd", [True, False])
def test_with_a_driver_torch_is_queried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, amd: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(device, "AMD_DEVICE", tmp_path / "kfd")
    monkeypatch.setattr(device, "_DRIVERS", ("libnone.so",) if amd else ("libm.so.6",))
    if amd:
        (tmp_path / "kfd").touch()
    assert pick_device("auto") == "cuda"


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000", 4), ("800000 100000", 4), ("400000 100000", 4), ("250000 100000", 2),
        ("100000 100000", 1), ("50000 100000", 1), ("200000 50000", 4), ("", 4), ("nonsense", 4),
    ],
)  # fmt: skip
def test_cores_are_those_bound_to_within_the_containers_quota(
    quota: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(quota + "\n")
    monkeypatch.setattr(device, "CPU_QUOTA_FILE", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 2, 5, 7}, raising=False)
    assert usable_cores() == cores


def test_all_cores_are_usable_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "CPU_QUOTA_FILE", tmp_path / "missing")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert usable_cores() == 3
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1
