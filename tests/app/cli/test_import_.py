import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from app.hub.requests import Hub
from model.checkpoint.reader import load_checkpoint
from model.interop.marian_import import import_marian
from tests.app.cli.conftest import Attend
from tests.app.conftest import Serve
from tests.app.hub.fake_hub import FakeHub
from tests.firefox_model import word_vocabulary, write_model
from tests.marian_folder import MakeFolder, change_json
from tests.marian_npz import write_npz_folder

WEIGHTS = "model.safetensors"


def test_an_imported_model_translates_like_any_other(
    attend: Attend, make_folder: MakeFolder, tmp_path: Path
) -> None:
    imported = attend("import", "marian", make_folder(), tmp_path / "ours")
    assert imported.stdout == f"wrote {tmp_path / 'ours'}: opus-mt, en to fr\n"
    text = "the weather is nice\n\n☃\n"
    result = attend("translate", "--checkpoint", tmp_path / "ours", "--json", stdin=text)
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 3


def test_given_name_and_languages(attend: Attend, make_folder: MakeFolder, tmp_path: Path) -> None:
    result = attend(
        "import", "marian", make_folder(multi=True), tmp_path / "ours",
        "--name", "mine", "--source", "en,de", "--target", "pt-BR",
    )  # fmt: skip
    assert "mine, en to pt-BR, de to pt-BR" in result.stdout
    assert load_checkpoint(tmp_path / "ours").config.name == "mine"


def test_every_fault_is_reported_in_one_line(
    attend: Attend, make_folder: MakeFolder, tmp_path: Path
) -> None:
    folder = make_folder()
    change_json(folder / "config.json", normalize_before=True, static_position_embeddings=False)
    result = attend("import", "marian", folder, tmp_path / "ours")
    assert result.exit_code == 1
    assert result.stderr == (
        f"attend: {folder}: attend cannot run this model: config.json: normalize_before = true; "
        "config.json: static_position_embeddings = false\n"
    )
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("arguments", [["import", "bert", "a", "b"], ["import", "marian", "a"]])
def test_bad_usage(attend: Attend, arguments: list[str]) -> None:
    assert attend(*arguments).exit_code == 2


async def test_an_imported_model_is_served_like_any_other(
    serve: Serve, make_folder: MakeFolder, tmp_path: Path
) -> None:
    import_marian(make_folder(), tmp_path / "ours")
    body = {
        "text": ["the weather is nice", "", "\u200b"],
        "attention": {"kind": "cross", "layers": [0], "heads": [1]},
        "alternatives": 2,
    }
    async with serve(checkpoint=tmp_path / "ours") as client:
        info = (await client.get("/info")).json()
        response = await client.post("/translate", json=body)
    assert info["model"] == "opus-mt"
    assert info["directions"] == [["en", "fr"]]
    worded, empty, invisible = response.json()["translations"]
    assert len(worded["alternatives"]) == 2
    [segment] = worded["segments"]
    assert segment["source_tokens"][-1]["piece"] == "</s>"
    rows, columns = segment["attention"]["shape"][2:]
    assert (rows, columns) == (len(segment["target_tokens"]), len(segment["source_tokens"]))
    assert (empty["text"], invisible["text"]) == ("", "\u200b")
    assert empty["segments"] == invisible["segments"] == []


def test_marians_own_format_with_the_languages_given(attend: Attend, tmp_path: Path) -> None:
    write_npz_folder(tmp_path / "opus")
    unsaid = attend("import", "marian", tmp_path / "opus", tmp_path / "ours")
    assert unsaid.exit_code == 1
    assert "use `attend import marian --source`" in unsaid.stderr
    result = attend(
        "import", "marian", tmp_path / "opus", tmp_path / "ours", "--source", "en", "--target", "fr"
    )
    assert result.stdout == f"wrote {tmp_path / 'ours'}: opus, en to fr\n"
    result = attend("translate", "--checkpoint", tmp_path / "ours", stdin="the weather is nice\n")
    assert result.exit_code == 0, result.stderr


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Path], FakeHub]:
    """Serve a folder on a fake hub, with additional weights that no import needs."""
    monkeypatch.setenv("ATTEND_CACHE", str(tmp_path / "cache"))
    for name in ("HF_ENDPOINT", "HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)

    def put(folder: Path) -> FakeHub:
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        hub = FakeHub(files | {"tf_model.h5": b"x" * 100}, lfs={WEIGHTS})
        make = partial(Hub, "https://hub.test", None, hub.transport(), hub.slept.append)
        monkeypatch.setattr("app.cli.import_.Hub", make)
        return hub

    return put


def test_a_name_on_the_hub(
    attend: Attend,
    make_folder: MakeFolder,
    tmp_path: Path,
    serving: Callable[[Path], FakeHub],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub = serving(make_folder())
    hub.cut, hub.cut_after = WEIGHTS, [1000]  # resumed
    result = attend("import", "marian", "Helsinki-NLP/opus-mt-en-fr", tmp_path / "ours")
    assert result.stdout == f"wrote {tmp_path / 'ours'}: opus-mt-en-fr, en to fr\n", result.stderr
    files = [request.url.path.rpartition("/")[2] for request in hub.requests]
    assert "tf_model.h5" not in files
    assert files[-2:] == [WEIGHTS, WEIGHTS]
    assert not list((tmp_path / "cache").rglob("*.safetensors"))
    n_before = len(hub.requests)
    again = attend("import", "marian", "Helsinki-NLP/opus-mt-en-fr", tmp_path / "ours")
    assert "not overwritten" in again.stderr
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    offline = attend("import", "marian", "opus-mt-en-fr", tmp_path / "others")
    assert "HF_HUB_OFFLINE is set; unset it, or give a folder" in offline.stderr
    assert len(hub.requests) == n_before  # nothing unneeded is fetched


@pytest.mark.parametrize(
    ("verb", "model_type", "message"),
    [
        ("marian", "bart", "model_type 'bart' (BART); attend imports only 'marian'"),
        ("marian", "m2m_100", "model_type 'm2m_100'; use `attend import m2m100`"),
        ("m2m100", "marian", "model_type 'marian'; use `attend import marian`"),
    ],
)
def test_another_architecture_on_the_hub_is_refused_before_its_weights(
    attend: Attend,
    make_folder: MakeFolder,
    tmp_path: Path,
    serving: Callable[[Path], FakeHub],
    verb: str,
    model_type: str,
    message: str,
) -> None:
    folder = shutil.copytree(make_folder(), tmp_path / "theirs")
    change_json(folder / "config.json", model_type=model_type)
    hub = serving(folder)
    refused = attend("import", verb, "opus-mt-en-fr", tmp_path / "ours")
    assert refused.exit_code == 1
    assert message in refused.stderr
    assert not any(request.url.path.endswith(WEIGHTS) for request in hub.requests)
    assert not (tmp_path / "ours").exists()


def test_neither_a_folder_nor_a_name_on_the_hub(
    attend: Attend, make_folder: MakeFolder, tmp_path: Path, serving: Callable[[Path], FakeHub]
) -> None:
    serving(make_folder())
    refused = attend("import", "marian", "models/opus-mt-en-xx", tmp_path / "ours")
    assert "models/opus-mt-en-xx: no such model on https://hub.test" in refused.stderr
    assert "(and there is no folder models/opus-mt-en-xx)" in refused.stderr
    refused = attend("import", "marian", tmp_path / "a" / "b", tmp_path / "ours")
    assert "no such folder" in refused.stderr


def test_a_model_of_firefox_is_imported_or_served_as_it_is(attend: Attend, tmp_path: Path) -> None:
    write_model(tmp_path / "enfr", "test", (word_vocabulary(60),), (60, 60))
    imported = attend("import", "firefox", tmp_path / "enfr", tmp_path / "ours", "--name", "fox")
    assert imported.stdout == f"wrote {tmp_path / 'ours'}: fox, en to fr\n"
    text = "w5 w6 w7\n"
    answers = {
        attend("translate", "--checkpoint", folder, "--cache", tmp_path / "c", stdin=text).stdout
        for folder in (tmp_path / "ours", tmp_path / "enfr")
    }
    assert len(answers) == 1
    assert len(answers.pop().splitlines()) == 1


def test_a_damaged_model_of_firefox_is_reported_in_one_line(attend: Attend, tmp_path: Path) -> None:
    path = write_model(tmp_path / "enfr", "test", (word_vocabulary(60),), (60, 60))
    path.write_bytes(path.read_bytes()[:1000])
    result = attend("import", "firefox", tmp_path / "enfr", tmp_path / "ours")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"attend: {path}: damaged, or not Marian's binary format")
    assert len(result.stderr.splitlines()) == 1
