import os
import subprocess
import sys
from pathlib import Path


def test_they_work_where_nothing_can_be_written(tmp_path: Path) -> None:
    """As for the user of a container; in a process of its own, since kernels are made at import."""
    file = tmp_path / "quantise.py"
    file.write_text(
        "import tempfile\n"
        "def no(*_, **__): raise PermissionError\n"
        "tempfile.mkdtemp = tempfile.TemporaryFile = no\n"
        "import numpy as np\n"
        "from model.training.int8 import kernels\n"
        "codes, scales = np.zeros((1, 2), np.int8), np.zeros(1, np.float32)\n"
        "kernels.quantise_rows(np.array([[-2, 1]], np.float32), codes, scales)\n"
        "assert codes.tolist() == [[-127, 64]], codes\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, str(file)], env=environment, check=True)
