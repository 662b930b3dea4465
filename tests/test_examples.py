"""The documentation's examples are the answers of the shipped checkpoint.

After a change of the checkpoint, `make examples` rewrites the comments after `print` in docs/api.md
and the translations in docs/samples.md. Samples whose translation has changed lose their verdict;
add it after reading them.
"""

import contextlib
import io
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.shipped import SHIPPED_CHECKPOINT
from tests.app.server_process import serving

DOCS = Path(__file__).parent.parent / "docs"
API = (DOCS / "api.md").read_text(encoding="utf-8")
SAMPLES = (DOCS / "samples.md").read_text(encoding="utf-8")
DOCUMENTED_URL = "http://127.0.0.1:8000"
PYTHON = re.findall(r"```python\n(.*?)```", API, re.DOTALL)
SHELL = [
    command
    for block in re.findall(r"```sh\n(.*?)```", API, re.DOTALL)
    for command in re.split(r"(?<!\\)\n", block)
    if command
]
PRINTED = re.compile(r"^(print\(.*\)  # )(.+)$", re.MULTILINE)
SAMPLE = re.compile(r"^\| (\S+) \| ([\w ]+) \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
VERDICTS = "✓~✗"


@pytest.fixture(scope="module")
def client(kernels: None) -> Iterator[httpx.Client]:
    with serving(SHIPPED_CHECKPOINT, "--threads", "1") as (_, client):
        yield client


@pytest.fixture
def url(client: httpx.Client) -> str:
    return str(client.base_url).rstrip("/")


@pytest.fixture
def writes_examples(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-examples"))


@pytest.mark.parametrize("example", PYTHON)
def test_python(url: str, example: str, writes_examples: bool) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example.replace(DOCUMENTED_URL, url), {})
    lines = printed.getvalue().splitlines()
    answers = iter(lines)
    rendered = PRINTED.sub(lambda line: line[1] + next(answers), example)
    if writes_examples:
        page = DOCS / "api.md"
        page.write_text(
            page.read_text(encoding="utf-8").replace(example, rendered), encoding="utf-8"
        )
    else:
        assert rendered == example
    assert len(lines) == len(PRINTED.findall(example)) > 0


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
@pytest.mark.parametrize("example", SHELL)
def test_curl(url: str, example: str) -> None:
    command = example.replace(DOCUMENTED_URL, url).replace("curl ", "curl --silent --fail ", 1)
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=300)
    assert json.loads(done.stdout)


def test_samples(client: httpx.Client, writes_examples: bool) -> None:
    into_french, into_english = (SAMPLES.index(f"\n## {name}") for name in ("English", "French"))
    rows = list(SAMPLE.finditer(SAMPLES, into_french))
    by_target = {"fr": [row for row in rows if row.start() < into_english]}
    by_target["en"] = rows[len(by_target["fr"]) :]
    written = SAMPLES
    for target, those in by_target.items():
        body = {"text": [row[3].replace(r"\|", "|") for row in those], "target": target}
        answers = client.post("/translate", json=body).json()["translations"]
        for row, answer in zip(those, answers, strict=True):
            translation = answer["text"].replace("|", r"\|")
            if translation != row[4]:
                new = f"| ? | {row[2]} | {row[3]} | {translation} |  |"
                written = written.replace(row[0], new)
    if writes_examples:
        (DOCS / "samples.md").write_text(written, encoding="utf-8")
    else:
        assert written == SAMPLES


def test_samples_are_counted() -> None:
    rows = SAMPLE.findall(SAMPLES, SAMPLES.index("\n## English"))
    counts = Counter((row[0], row[1]) for row in rows)
    assert len(rows) == 100
    assert {verdict for verdict, _ in counts} == set(VERDICTS)
    kinds = {kind for _, kind in counts}
    for kind in kinds:
        cells = " | ".join(str(counts[verdict, kind]) for verdict in VERDICTS)
        assert f"| {kind} | {cells} |" in SAMPLES
    right, small, bad = (sum(counts[verdict, kind] for kind in kinds) for verdict in VERDICTS)
    assert f"**{right} are right, {small} have a small error, {bad} are bad.**" in SAMPLES
