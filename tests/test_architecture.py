"""Checks the imports of every file against a table of folders."""

import ast
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAX_MODULES = 15
"""Maximum number of modules in a folder, besides its `__init__.py`."""

HTTP = ("fastapi", "starlette", "uvicorn")

# From the top down. A row may import from the rows that it names, all of which are below it, and
# from `app.errors` or `model.errors`. Nested folders have their own rows, as do
# `model.engine.protocol` and `.explanations`, the interface between scheduling and tensors, and the
# modules shared by kernels and their compilation.
ROWS: dict[str, str] = {
    "app.cli": "app.cli.translating app.cli.display app.hub app.main app.server app.loading "
    "app.runtime app.settings app.shipped app.memory app.translation.segments "
    "app.wire.native app.languages app.observe model.training model.training.data "
    "model.training.update model.interop model.interop.huggingface model.translator model.engine "
    "model.engine.protocol model.checkpoint model.alignment model.decoding model.text "
    "model.transformer",
    "app.cli.translating": "app.cli.display app.loading app.settings app.translation "
    "app.translation.segments app.languages app.documents app.observe model.checkpoint",
    "app.cli.display": "model.training model.training.data model.alignment",
    "app.main": "app.routes app.routes.deepl app.routes.handling app.server app.loading "
    "app.runtime app.settings app.wire app.accounts app.observe app.web",
    "app.routes": "app.routes.handling app.settings app.wire app.wire.dialects "
    "app.wire.native app.translation app.accounts app.documents app.languages app.observe app.web "
    "app.explanation",
    "app.explanation": "app.translation app.translation.segments app.scheduling "
    "model.engine.explanations model.decoding model.transformer",
    "app.routes.deepl": "app.routes.handling app.runtime app.settings app.wire app.wire.dialects "
    "app.translation app.accounts app.documents app.languages app.observe",
    "app.routes.handling": "app.runtime app.settings app.wire app.wire.native app.translation "
    "app.accounts app.languages app.observe",
    "app.server": "app.runtime app.wire app.observe",
    "app.loading": "app.memory app.runtime app.settings app.shelf "
    "app.translation app.scheduling app.languages app.observe model.engine "
    "model.engine.protocol model.checkpoint model.text",
    "app.runtime": "app.shelf app.translation app.scheduling app.wire.native app.observe "
    "model.checkpoint model.engine",
    "app.settings": "app.shipped app.observe model.engine.protocol model.transformer",
    "app.wire": "app.wire.dialects app.wire.native app.translation app.languages app.observe",
    "app.wire.dialects": "app.wire.native app.translation app.accounts app.languages",
    "app.wire.native": "app.translation app.text app.text.markup "
    "model.engine.explanations model.decoding",
    "app.translation": "app.translation.segments app.shelf app.scheduling app.documents "
    "app.languages app.text app.text.markup app.observe model.engine.explanations "
    "model.engine.protocol model.checkpoint model.alignment model.decoding model.text "
    "model.transformer",
    "app.translation.segments": "app.languages app.text app.text.facts app.text.facts.quantities "
    "model.decoding model.text",
    "app.shelf": "app.memory app.observe",
    "app.memory": "",
    "app.scheduling": "app.observe model.engine.protocol model.engine.explanations model.decoding",
    "app.hub": "model.interop model.text",
    "app.accounts": "",
    "app.documents": "app.documents.xml app.text app.text.markup",
    "app.documents.xml": "app.text app.text.markup",
    "app.text.markup": "app.text",
    "app.text.facts": "app.text.facts.quantities app.text model.text",
    "app.text.facts.quantities": "app.text model.text",
    "app.text": "model.text",
    "app.languages": "model.text",
    "app.observe": "",
    "app.web": "",
    "app.concurrency": "",
    "app.errors": "",
    "app.shipped": "",
    "model.training": "model.training.data model.training.int8 model.training.update "
    "model.checkpoint model.decoding model.text model.transformer",
    "model.training.data": "model.text",
    "model.training.int8": "model.engine.cpu.kernels model.transformer",
    "model.training.update": "model.transformer",
    "model.interop": "model.interop.ctranslate2 model.interop.huggingface model.interop.npz "
    "model.interop.m2m100 model.alignment "
    "model.checkpoint model.decoding model.text model.transformer",
    "model.interop.huggingface": "model.checkpoint model.decoding model.transformer",
    "model.interop.ctranslate2": "model.interop.npz model.checkpoint model.text model.transformer",
    "model.interop.m2m100": "model.text",
    "model.interop.npz": "model.checkpoint model.decoding model.text model.transformer",
    "model.translator": "model.engine model.engine.protocol model.checkpoint model.decoding "
    "model.text",
    "model.engine": "model.engine.torch model.engine.cpu model.engine.cpu.forward "
    "model.engine.cpu.kernels model.engine.cpu.kernels.cache "
    "model.engine.cpu.kernels.instructions model.engine.cpu.kernels.target "
    "model.engine.jobs model.engine.protocol "
    "model.engine.explanations model.checkpoint model.decoding model.transformer",
    "model.engine.torch": "model.engine.jobs model.engine.protocol "
    "model.engine.explanations model.decoding model.transformer",
    "model.engine.cpu": "model.engine.cpu.forward model.engine.cpu.kernels "
    "model.engine.cpu.kernels.arrays "
    "model.engine.jobs model.engine.protocol model.engine.explanations model.decoding "
    "model.transformer",
    "model.engine.cpu.forward": "model.engine.cpu.kernels model.engine.cpu.kernels.arrays "
    "model.engine.cpu.kernels.instructions model.decoding model.transformer",
    "model.engine.cpu.kernels": "model.engine.cpu.kernels.compiling "
    "model.engine.cpu.kernels.arrays model.engine.cpu.kernels.instructions",
    "model.engine.cpu.kernels.compiling": "model.engine.cpu.kernels.arrays "
    "model.engine.cpu.kernels.cache model.engine.cpu.kernels.instructions "
    "model.engine.cpu.kernels.target",
    "model.engine.cpu.kernels.arrays": "",
    "model.engine.cpu.kernels.cache": "",
    "model.engine.cpu.kernels.instructions": "model.engine.cpu.kernels.target",
    "model.engine.cpu.kernels.target": "",
    "model.engine.jobs": "model.engine.protocol model.transformer",
    "model.engine.protocol": "model.engine.explanations model.decoding",
    "model.engine.explanations": "model.decoding",
    "model.checkpoint": "model.alignment model.decoding model.text model.transformer",
    "model.alignment": "model.text",
    "model.decoding": "model.text model.transformer",
    "model.text": "",
    "model.transformer": "",
    "model.errors": "",
}
COMMON = ("app.concurrency", "app.errors", "model.errors")
"""Every row may import these; `model` only its own."""


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    name_of(path): path for package in ("app", "model") for path in (ROOT / package).rglob("*.py")
}


def imports_of(module: str, path: Path, known: Iterable[str]) -> set[str]:
    """Return the modules of all import statements, also in functions and for types only."""
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


def row_of(module: str) -> str:
    """Return the longest row that contains a module; empty if none does."""
    return max((row for row in ROWS if belongs(module, row)), key=len, default="")


def reaches(module: str, imports: dict[str, set[str]]) -> set[str]:
    """Return everything that importing `module` imports, including packages around it."""
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


def arrows() -> dict[tuple[str, str], str]:
    """Return the imports between rows, with an example of each."""
    return {
        (row_of(module), row_of(target)): f"{module} → {target}"
        for module in FILES
        for target in IMPORTS[module] & FILES.keys() - {"app", "model"}
        if row_of(module) != row_of(target)
    }


def test_the_reader_of_imports_sees_every_form(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(
        "import a.b as c\nfrom d import e\nfrom d import f\nfrom . import g\nfrom ..h import i\n"
        "def late():\n    import j\nif TYPE_CHECKING:\n    import k\n"
    )
    known = ["d.e", "p.q.g"]
    assert imports_of("p.q.x", file, known) == {"a.b", "d.e", "d", "p.q.g", "p.h", "j", "k"}


def test_reachability_is_transitive_and_includes_packages() -> None:
    assert reaches("a.b", {"a": {"c"}, "c": {"d"}}) == {"a.b", "a", "c", "d"}


def test_every_module_is_in_a_row() -> None:
    assert "torch" in reaches("model.transformer.transformer", IMPORTS)
    assert [module for module in FILES if not row_of(module)] == ["app", "model"]
    assert {row for row in ROWS if row not in map(row_of, FILES)} == set()


def test_the_table_points_only_downwards() -> None:
    order = list(ROWS)
    back = [
        f"{row} → {target}"
        for row, allowed in ROWS.items()
        for target in allowed.split()
        if order.index(target) <= order.index(row)
    ]
    assert back == []


def test_folders_import_only_what_the_table_allows() -> None:
    forbidden = {
        arrow: example
        for arrow, example in arrows().items()
        if arrow[1] not in (*ROWS[arrow[0]].split(), *COMMON)
    }
    assert forbidden == {}


def test_the_table_has_no_unused_entries() -> None:
    there = arrows()
    stale = [(row, to) for row in ROWS for to in ROWS[row].split() if (row, to) not in there]
    assert stale == []


def test_model_never_imports_app() -> None:
    assert [arrow for arrow in arrows() if arrow[0] < "model" <= arrow[1]] != []
    assert [arrow for arrow in arrows() if arrow[1] < "model" <= arrow[0]] == []


def test_nothing_imports_the_benchmarks() -> None:
    assert [
        module for module in FILES if any(belongs(x, "benchmarks") for x in IMPORTS[module])
    ] == []


def test_no_two_modules_import_each_other() -> None:
    within = {module: IMPORTS[module] & FILES.keys() for module in FILES}
    for module, targets in within.items():
        for target in targets - {module}:
            reached = reaches(target, within)
            assert module not in reached, f"{module} → {target} → … → {module}"


@pytest.mark.parametrize(
    "row",
    [
        "app.translation",
        "app.scheduling",
        "app.wire.native",
        "app.text",
        "app.documents",
        "app.accounts",
        "app.observe",
        "app.errors",
    ],
)
def test_no_http_below_the_routes(row: str) -> None:
    for module in FILES:
        if row_of(module) == row:
            reached = reaches(module, IMPORTS)
            assert not [one for one in reached if any(belongs(one, name) for name in HTTP)], module


def test_a_folder_fits_on_a_screen() -> None:
    folders = {path.parent for path in FILES.values()}
    full = {
        str(folder.relative_to(ROOT)): count
        for folder in folders
        if (count := len([*folder.glob("*.py")]) - 1) > MAX_MODULES
    }
    assert full == {}


def test_every_folder_describes_its_content() -> None:
    for module, path in FILES.items():
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), module
    folders = {path.parent for path in FILES.values()}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_tests_mirror_the_modules_they_test() -> None:
    folders = {path.parent for path in FILES.values()}
    tests = {
        path.parent for name in ("app", "model") for path in (ROOT / "tests" / name).rglob("*.py")
    }
    assert {
        str(test) for test in tests if ROOT / test.relative_to(ROOT / "tests") not in folders
    } == set()


TORCH_FREE = [
    "model.engine.protocol", "model.engine.run", "model.decoding.hypothesis",
    "model.alignment.from_attention", "model.checkpoint.config",
    "app.translation.segments.segmented_text", "app.scheduling.scheduler",
]  # fmt: skip


@pytest.mark.parametrize("module", TORCH_FREE)
def test_scheduling_needs_no_torch(module: str) -> None:
    assert not [one for one in reaches(module, IMPORTS) if belongs(one, "torch")]
    check = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=True)


def test_serving_on_a_cpu_takes_no_torch(tiny_checkpoint: Path) -> None:
    code = (
        "import sys; from pathlib import Path; import app.cli.serve; "
        "from app.loading import load_runtime; from app.observe.metrics import Metrics; "
        "from app.settings import Settings; "
        "load_runtime(Settings(checkpoint=(Path(sys.argv[1]),), device='cpu'), Metrics()); "
        "print('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tiny_checkpoint)]
    assert subprocess.check_output(command, text=True).strip() == "False"
