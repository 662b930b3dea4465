"""Adds to a wheel what lies beside the packages in a checkout: the checkpoint and the recipes.

They become data of the package `app`, where `app/shipped.py` finds them. If `make kernels` has
compiled kernels, they become data of the package that uses them. All else is in pyproject.toml.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("checkpoints", "recipes")
KERNELS = Path("build/kernels/attend/kernels")
COMPILED = Path("model/engine/cpu/compiled")


class BuildWithShipped(build_py):  # type: ignore[misc]
    """`build_py`, into an emptied folder, with the shipped files under `app/`."""

    def run(self) -> None:
        """Nothing is copied for an editable installation, which uses the checkout itself."""
        if self.editable_mode:
            super().run()
            return
        # A module that was moved since an earlier build would still be there.
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        for source, target in self._shipped():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        # Fixed permissions, so that builds under different umasks are equal.
        for path in Path(self.build_lib).rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)

    def _shipped(self) -> list[tuple[Path, Path]]:
        sources = [path for name in SHIPPED for path in Path(name).rglob("*") if path.is_file()]
        shipped = [(path, Path(self.build_lib, "app", path)) for path in sorted(sources)]
        kernels = [path for path in KERNELS.rglob("*.*") if path.is_file()]
        return shipped + [
            (path, Path(self.build_lib, COMPILED, path.relative_to(KERNELS)))
            for path in sorted(kernels)
        ]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """What is installed, for whoever lists it."""
        outputs: list[str] = super().get_outputs(include_bytecode)
        return outputs + [str(target) for _, target in self._shipped()]


os.umask(0o022)  # for the metadata
setup(cmdclass={"build_py": BuildWithShipped})
