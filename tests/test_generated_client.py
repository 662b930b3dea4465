"""A client generated from the /openapi.json of a real server, used with it."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.server_process import serving

GENERATOR = Path(sys.executable).with_name("openapi-python-client")
TEXTS = ["The old cat sees the dog.", "The house"]


@pytest.fixture(scope="module")
def server(tiny_checkpoint: Path, kernels: None) -> Iterator[httpx.Client]:
    with serving(tiny_checkpoint, "--log-level", "error") as (_, client):
        yield client


@pytest.fixture(scope="module")
def package(server: httpx.Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Generate the package without warnings; return its name."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "config.yml").write_text(
        "package_name_override: generated_attend\npost_hooks: []\n", encoding="utf-8"
    )
    (folder / "openapi.json").write_bytes(server.get("/openapi.json").content)
    done = subprocess.run(
        [
            GENERATOR, "generate", "--path", "openapi.json", "--config", "config.yml",
            "--meta", "none", "--output-path", "generated_attend", "--fail-on-warning",
        ],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()
    sys.path.insert(0, str(folder))
    yield "generated_attend"
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == "generated_attend"]:
        del sys.modules[name]


class Generated:
    """The package's models by name, and its operations bound to the server."""

    def __init__(self, package: str, client: Any) -> None:
        self._package = package
        self._client = client
        self.models: Any = importlib.import_module(f"{package}.models")

    def __call__(self, operation: str, **arguments: Any) -> Any:
        """Send an operation's request and return the parsed response."""
        module: Any = importlib.import_module(f"{self._package}.api.{operation}")
        return module.sync(client=self._client, **arguments)


@pytest.fixture
def generated(package: str, server: httpx.Client) -> Iterator[Generated]:
    module: Any = importlib.import_module(f"{package}.client")
    with module.Client(base_url=str(server.base_url)) as client:
        yield Generated(package, client)


def test_every_operation_of_the_document_is_generated(
    generated: Generated, package: str, server: httpx.Client
) -> None:
    operations = {
        operation["operationId"]
        for item in server.get("/openapi.json").json()["paths"].values()
        for operation in item.values()
    }
    folder = Path(generated.models.__file__).parent.parent / "api"
    assert operations == {file.stem for file in folder.glob("*/*.py")} - {"__init__"}


def test_translates_as_the_server_does(generated: Generated, server: httpx.Client) -> None:
    body = {"text": TEXTS, "source": "en", "target": "fr", "alternatives": 1, "alignment": True}
    direct = server.post("/translate", json=body).json()
    request = generated.models.TranslateRequest.from_dict(body)
    answer = generated("translation.translate", body=request)
    assert isinstance(answer, generated.models.TranslateAnswer)
    assert answer.to_dict() == direct
    assert answer.usage.characters == sum(map(len, TEXTS))
    assert len(answer.translations[0].alternatives) == 1


def test_speaks_the_other_dialects(generated: Generated, server: httpx.Client) -> None:
    models = generated.models
    text = TEXTS[0]
    native = server.post("/translate", json={"text": text, "source": "en", "target": "fr"}).json()
    translated = native["translations"][0]["text"]
    libre = generated(
        "translation.translate", body=models.LibreTranslateRequest(q=text, source="en", target="fr")
    )
    assert libre.translated_text == translated
    deepl = generated(
        "deep_l.deepl_translate", body=models.DeepLRequest(text=[text], target_lang="FR")
    )
    assert deepl.translations[0].text == translated


def test_scores_and_describes_itself(generated: Generated) -> None:
    models = generated.models
    body = models.ScoreRequest(text="The cat", translation="le chat", source="en", target="fr")
    [pair] = generated("translation.score", body=body).scores
    assert pair.score < 0
    assert generated("model.info").model
    codes = {language.code for language in generated("model.languages")}
    assert codes == {"en", "fr"}


def test_errors_are_parsed_too(generated: Generated) -> None:
    models = generated.models
    body = models.TranslateRequest(text="a", source="en", target="xx")
    problem = generated("translation.translate", body=body)
    assert isinstance(problem, models.Problem)
    assert (problem.status, problem.type_[-1:] != "") == (404, True)
    refused = generated(
        "deep_l.deepl_translate", body=models.DeepLRequest(text=["a"], target_lang="xx")
    )
    assert isinstance(refused, models.DeepLError)
