"""Every setting, route and command is documented in README.md or docs/."""

import inspect
import re
from pathlib import Path

import pytest

from app.cli.main import VERBS
from app.explanation.answer import (
    AttentionColumn,
    ComputedAttention,
    EndedBeam,
    ExplainAnswer,
    LikelyToken,
    LiveBeam,
    PositionTable,
    ShownSearch,
    ShownStep,
)
from app.main import create_admin_app, create_app
from app.observe.metrics import Metrics
from app.settings import Settings, env_name
from app.translation.answers import PairScore, Translation
from app.wire.dialects.deepl import DeepLRequest, DeepLTranslation, DeepLUsage
from app.wire.dialects.deepl_documents import DocumentHandle, DocumentRequest, DocumentStatus
from app.wire.dialects.deepl_glossaries import (
    DeepLGlossary,
    DeepLGlossaryRequest,
    DictionaryEntries,
    GlossaryChanges,
    MultilingualGlossary,
    MultilingualGlossaryRequest,
)
from app.wire.dialects.libretranslate import LibreTranslateAnswer, LibreTranslateRequest
from app.wire.native.fields import AttentionRequest
from app.wire.native.requests import (
    ExaminedAttention,
    ExplainRequest,
    ScoreRequest,
    TranslateRequest,
)
from app.wire.problems import HTTP_KINDS, KINDS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WIRE: tuple[type, ...] = (
    TranslateRequest, AttentionRequest, Translation, LibreTranslateRequest, LibreTranslateAnswer,
    DeepLRequest, DeepLTranslation, DeepLUsage, ScoreRequest, PairScore,
    DeepLGlossaryRequest, DeepLGlossary, ExplainRequest, ExaminedAttention, ExplainAnswer,
    ShownSearch, ShownStep, LiveBeam, LikelyToken, EndedBeam, ComputedAttention, AttentionColumn,
    PositionTable, DocumentRequest, DocumentHandle, DocumentStatus, DictionaryEntries,
    GlossaryChanges, MultilingualGlossary, MultilingualGlossaryRequest,
)  # fmt: skip
TEXT = {page.name: page.read_text(encoding="utf-8") for page in PAGES}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_in_the_readme(verb: str) -> None:
    assert f"`attend {verb}`" in TEXT["README.md"]


@pytest.mark.parametrize("setting", Settings.model_fields)
def test_every_setting_has_its_row(setting: str) -> None:
    flag = "--" + setting.replace("_", "-")
    field = Settings.model_fields[setting]
    default = "" if field.default is None else f"`{field.default}`"
    if setting == "checkpoint":
        default = "`checkpoints/en-fr`"
    row = f"| `{flag}` | `{env_name(setting)}` | {default} | {field.description} |"
    assert row in TEXT["settings.md"].splitlines()


def test_every_variable_that_is_documented_exists() -> None:
    known = {env_name(setting) for setting in Settings.model_fields}
    for name, text in TEXT.items():
        assert set(re.findall(r"\bATTEND_\w+", text)) <= known, name


def test_every_metric_has_its_row() -> None:
    exposed = Metrics().exposition()[0].decode()
    names = set(re.findall(r"^# TYPE (attend_\S+)", exposed, re.MULTILINE))
    assert names
    documented = set(re.findall(r"^\| `(attend_\w+)", TEXT["operations.md"], re.MULTILINE))
    assert documented == names


def test_every_route_is_described() -> None:
    app = create_app(Settings())
    for document, route, page in (
        (app.openapi(), "/translate", "api.md"),
        (create_admin_app(app).openapi(), "/reload", "operations.md"),
    ):
        assert route in document["paths"]
        for path, methods in document["paths"].items():
            for method in methods:
                assert f"{method.upper()} {path}" in TEXT[page]


@pytest.mark.parametrize("model", WIRE)
def test_every_field_of_the_wire_is_described(model: type) -> None:
    for field in inspect.signature(model).parameters:
        assert re.search(rf"[`\"]{field}[`\"]", TEXT["api.md"]), field


def test_every_problem_is_listed_with_its_status() -> None:
    rows = dict(re.findall(r"^\| (\d{3}) \| (.+) \|$", TEXT["api.md"], re.MULTILINE))
    for kind in (*KINDS.values(), *HTTP_KINDS.values()):
        if kind.slug != "request-error":  # base class, never raised
            assert f"`{kind.slug}`" in rows[str(kind.status)]


def test_every_status_of_the_dialects_is_listed() -> None:
    differing = [kind for kind in KINDS.values() if kind.libretranslate or kind.deepl]
    assert differing
    for kind in differing:
        statuses = (kind.status, kind.libretranslate or kind.status, kind.deepl or kind.status)
        row = f"| `{kind.slug}` | {' | '.join(map(str, statuses))} |"
        assert row in TEXT["api.md"].splitlines()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_resolve(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def anchors(page: Path) -> set[str]:
    """Return the fragments of a page's headings as on GitHub."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_resolve(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)", page.read_text("utf-8"))
    lost = [
        (target, anchor)
        for target, anchor in links
        if anchor not in anchors(page.parent / target if target else page)
    ]
    assert lost == []


PATH = re.compile(r"(?<![\w./-])(?:tests/)?(?:app|model|benchmarks|deploy)(?:/\w+)*/(?:\w+\.py)?")
MODULE = re.compile(r"`((?:app|model)(?:\.[a-z_]+)+)")


def names_module(name: str) -> bool:
    parts = name.split(".")
    above = [ROOT.joinpath(*parts[:n]).with_suffix(".py") for n in range(2, len(parts) + 1)]
    return any(place.exists() for place in (ROOT.joinpath(*parts), *above))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_is_mentioned_exists(page: Path) -> None:
    assert [path for path in PATH.findall(TEXT[page.name]) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("root", ["app", "model", "benchmarks", "deploy", "tests"])
def test_every_module_that_is_mentioned_in_the_code_exists(root: str) -> None:
    for file in (ROOT / root).rglob("*.py"):
        text = file.read_text("utf-8")
        paths = [path for path in PATH.findall(text) if path.endswith(".py")]
        assert [path for path in paths if not (ROOT / path).exists()] == [], file
        assert [name for name in MODULE.findall(text) if not names_module(name)] == [], file


def test_every_benchmark_is_described() -> None:
    for path in (ROOT / "benchmarks").glob("*.py"):
        if 'if __name__ == "__main__"' in path.read_text("utf-8"):
            assert f"benchmarks.{path.stem}" in TEXT["benchmarks.md"], path.name
