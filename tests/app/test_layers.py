"""Who may import whom: main → routes → service → scheduler → engine protocol, never back."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

APP = Path(__file__).resolve().parents[2] / "app"
PROTOCOL = "model.engine.protocol"
HTTP = {"fastapi", "starlette", "uvicorn"}
ABOVE = {
    "pace": {"app"},
    "errors": {"app", "model"},
    "waiting": {"app", "model"},
    "sentence": {"app.exchange", "app.engine_thread", "app.scheduler"},
    "exchange": {"app.engine_thread", "app.scheduler"},
    "engine_thread": {"app.scheduler"},
    "sentence_cache": {"app"},
    "shared_sentences": {"app.exchange", "app.engine_thread", "app.scheduler", "app.service"},
    "places": {"app.scheduler", "app.service", "app.routes", "app.main", "app.runtime", "model"},
    "scheduler": {"app.service", "app.routes", "app.main", "app.runtime", "app.schemas"},
    "languages": {"app.service", "app.routes", "app.main", "app.runtime", "app.scheduler"},
    "schemas": {"app.service", "app.routes", "app.main", "app.runtime", "app.scheduler"},
    "translate_request": {
        "app.service",
        "app.routes",
        "app.main",
        "app.runtime",
        "app.scheduler",
        "app.schemas",
    },
    "timings": {"app", "model"},
    "side_by_side": {"app", "model"},
    "detection": {"app.itinerary", "app.service", "app.routes", "app.main", "app.schemas"},
    "itinerary": {"app.service", "app.routes", "app.main", "app.schemas", "app.scheduler"},
    "wire_request": {"app.service", "app.routes", "app.main", "app.schemas", "app.scheduler"},
    "detect_request": {"app.service", "app.routes", "app.main", "app.schemas", "app.scheduler"},
    "translations": {"app.service", "app.routes", "app.main", "app.scheduler"},
    "word_aligner": {"app.schemas", "app.served_model", "app.service", "app.routes", "app.main"},
    "live_text": {"app.scheduler", "app.served_model", "app.service", "app.routes", "app.main"},
    "served_model": {"app.service", "app.routes", "app.main", "app.runtime", "app.problems"},
    "file_store": {"app.file_service", "app.routes", "app.main", "app.runtime", "model"},
    "file_service": {"app.service", "app.routes", "app.main", "app.runtime", "app.problems"},
    "service": {"app.routes", "app.main", "app.runtime", "app.problems"},
    "runtime": {"app.routes", "app.main", "app.loading"},
    "loading": {"app.routes", "app.main"},
    "limits": {"app.service", "app.routes", "app.main", "app.runtime", "app.schemas"},
}


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def within(names: set[str], packages: set[str]) -> set[str]:
    return {name for name in names for package in packages if f"{name}.".startswith(f"{package}.")}


@pytest.mark.parametrize("module", ABOVE)
def test_no_module_imports_http_or_what_is_above_it(module: str) -> None:
    assert not within(imports(APP / f"{module}.py"), ABOVE[module] | HTTP)


@pytest.mark.parametrize("route", sorted((APP / "routes").glob("*.py")), ids=lambda path: path.stem)
def test_routes_know_neither_scheduler_nor_model(route: Path) -> None:
    assert not within(imports(route), {"app.scheduler", "app.main", "model", "torch"})


def test_of_the_server_one_module_builds_engines() -> None:
    engines = {path.name: within(imports(path), {"model.engine"}) for path in APP.glob("*.py")}
    builders = [name for name, used in engines.items() if used - within(used, {PROTOCOL})]
    assert builders == ["loading.py"]


def test_the_scheduler_needs_no_torch() -> None:
    check = "import sys, app.scheduler; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_serving_on_a_cpu_takes_no_torch(tiny_checkpoint: Path) -> None:
    code = (
        "import sys; from pathlib import Path; import app.cli.serve; "
        "from app.loading import load_runtime; from app.metrics import Metrics; "
        "from app.settings import Settings; "
        "load_runtime(Settings(checkpoint=(Path(sys.argv[1]),), device='cpu'), Metrics()); "
        "print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tiny_checkpoint)]
    assert subprocess.check_output(command, text=True).strip() == "False"
