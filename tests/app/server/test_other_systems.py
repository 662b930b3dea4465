"""The server runs on systems without /proc, control groups and glibc, such as macOS."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.app.server_process import serving

SITECUSTOMIZE = """
import builtins, ctypes, errno, io, os, pathlib, resource, select, signal, socket, sys

def elsewhere(function):
    def call(path, *arguments, **named):
        text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
        if text.startswith(("/proc", "/sys")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
        return function(path, *arguments, **named)
    return call

builtins.open = io.open = elsewhere(open)
for name in ("open", "listdir", "stat"):
    setattr(os, name, elsewhere(getattr(os, name)))
for module, names in (
    (os, [name for name in dir(os) if name.startswith(("sched_", "posix_fadvise", "memfd_",
          "eventfd", "pidfd_", "copy_file_range", "splice", "getrandom", "prlimit"))]),
    (select, ["epoll"]),
    (socket, ["SO_REUSEPORT", "TCP_QUICKACK"]),
    (signal, ["SIGRTMIN", "SIGRTMAX", "sigtimedwait", "sigwaitinfo"]),
    (resource, ["prlimit"]),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

def refuses(limit, limits):
    raise ValueError("current limit exceeds maximum limit")
resource.setrlimit = refuses

class Library(ctypes.CDLL):
    def __getattr__(self, name):
        if name in ("mallopt", "malloc_trim", "prctl"):
            raise AttributeError(name)
        return super().__getattr__(name)
ctypes.CDLL = Library
sys.modules["uvloop"] = None
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> str:
    """Return a PYTHONPATH that makes processes and their children see another system."""
    (tmp_path / "sitecustomize.py").write_text(SITECUSTOMIZE)
    return os.pathsep.join([str(tmp_path), *sys.path])


def test_the_server_needs_no_feature_of_linux(
    elsewhere: str, tiny_checkpoint: Path, kernels: None
) -> None:
    with serving(tiny_checkpoint, PYTHONPATH=elsewhere) as (process, client):
        text = {"text": "The cat sees the dog.", "source": "en", "target": "fr"}
        assert client.post("/translate", json=text).json()["translations"][0]["text"]
        assert client.post("/detect", json={"q": "Where is the railway station?"}).is_success
        assert client.get("/status").is_success
        assert "attend_engines" in client.get("/metrics").text
        process.send_signal(signal.SIGHUP)
        assert client.post("/translate", json=text).is_success
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
