"""Reads the imports of every file of the product and fails on one that points back up."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    name_of(path): path for package in ("app", "model") for path in (ROOT / package).rglob("*.py")
}


def imports_of(module: str, path: Path, known: Iterable[str]) -> set[str]:
    """Modules named by any import statement, those within functions included."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            submodules = {f"{base}.{alias.name}" for alias in node.names} & set(known)
            found |= submodules or {base}
    return found


IMPORTS = {module: imports_of(module, path, FILES) for module, path in FILES.items()}


def belongs(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def reaches(module: str, imports: dict[str, set[str]]) -> set[str]:
    """All that importing `module` imports, the packages it lies in and other projects included."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += imports.get(one, ())
            if parent := one.rpartition(".")[0]:
                waiting.append(parent)
    return seen


def edges(sources: Iterable[str], forbidden: Iterable[str]) -> list[str]:
    forbidden = tuple(forbidden)
    return [
        f"{source} → {target}"
        for source in sources
        for target in sorted(IMPORTS[source])
        if any(belongs(target, package) for package in forbidden)
    ]


def modules_in(*packages: str) -> list[str]:
    return [module for module in FILES if any(belongs(module, package) for package in packages)]


def test_the_reader_of_imports_sees_every_form(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(
        "import a.b as c\nfrom d import e\nfrom d import f\nfrom . import g\nfrom ..h import i\n"
        "def late():\n    import j\n"
    )
    known = ["d.e", "p.q.g"]
    assert imports_of("p.q.x", file, known) == {"a.b", "d.e", "d", "p.q.g", "p.h", "j"}


def test_reaching_goes_through_packages_and_over_several_steps() -> None:
    assert reaches("a.b", {"a": {"c"}, "c": {"d"}}) == {"a.b", "a", "c", "d"}


def test_the_product_was_found() -> None:
    assert {"model.transformer", "model.engine.protocol", "app.cli"} <= FILES.keys()
    assert "torch" in reaches("model.transformer", IMPORTS)


def test_model_never_imports_app() -> None:
    assert edges(modules_in("model"), ["app"]) == []


def test_nothing_imports_the_benchmarks() -> None:
    assert edges(FILES, ["benchmarks"]) == []


def test_the_core_knows_neither_training_nor_interop() -> None:
    optional = {*modules_in("model.training", "model.interop")}
    core = [module for module in modules_in("model") if module not in optional]
    assert edges(core, ["model.training", "model.interop"]) == []


def test_serving_needs_neither_training_nor_interop() -> None:
    serving = [module for module in modules_in("app") if not belongs(module, "app.cli")]
    assert edges(serving, ["model.training", "model.interop", "app.cli"]) == []


# From the bottom up; a module imports only from rows below its own, or from its own package.
MODEL_ROWS = (
    ("model.errors",),
    ("model.config",),
    ("model.attention", "model.feed_forward", "model.embedding", "model.sublayer"),
    ("model.encoder", "model.decoder"),
    ("model.transformer",),
    ("model.decoding",),
    ("model.engine",),
)
# Nothing lower imports a higher one, not even by way of a module that is not named here.
APP_ROWS = (
    ("app.spans",),
    ("app.placeholders", "app.segmentation", "app.flags"),
    ("app.stand_ins", "app.markup_tokens"),
    ("app.inline_tags",),
    ("app.document",),
    ("app.tagged_text",),
    ("app.markup",),
    ("app.documents",),
    ("app.passage",),
    ("app.rendition",),
    ("app.waiting", "app.metrics", "app.isolation"),
    ("app.sentence",),
    ("app.exchange",),
    ("app.engine_thread",),
    ("app.scheduler", "app.places"),
    ("app.explainer",),
    ("app.served_model",),
    ("app.service",),
    ("app.runtime", "app.dialects"),
    ("app.routes",),
    ("app.main", "app.server"),
    ("app.cli",),
)


@pytest.mark.parametrize("row", range(len(MODEL_ROWS)))
def test_the_layers_of_the_model_depend_downwards(row: int) -> None:
    above = [package for packages in MODEL_ROWS[row + 1 :] for package in packages]
    for package in MODEL_ROWS[row]:
        beside = [other for other in MODEL_ROWS[row] if other != package]
        assert edges(modules_in(package), [*above, *beside]) == []


@pytest.mark.parametrize("row", range(len(APP_ROWS)))
def test_the_layers_of_the_service_depend_downwards(row: int) -> None:
    above = [package for packages in APP_ROWS[row + 1 :] for package in packages]
    for module in modules_in(*APP_ROWS[row]):
        reached = reaches(module, IMPORTS)
        assert not [one for one in reached for package in above if belongs(one, package)]


def test_no_two_modules_import_each_other() -> None:
    within = {module: IMPORTS[module] & FILES.keys() for module in FILES}
    for module, targets in within.items():
        for target in targets - {module}:
            reached = reaches(target, within)
            assert module not in reached, f"{module} → {target} → … → {module}"


TORCH_FREE = [
    "model.engine.protocol", "model.engine.run", "model.decoding.hypothesis", "model.alignment",
    "app.passage", "app.scheduler",
]  # fmt: skip


@pytest.mark.parametrize("module", [module for module in TORCH_FREE if module in FILES])
def test_scheduling_needs_no_torch(module: str) -> None:
    assert not [one for one in reaches(module, IMPORTS) if belongs(one, "torch")]
    check = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=True)
