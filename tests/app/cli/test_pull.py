"""`attend pull` from a fake hub and from folders, and `attend models`, which shows the result."""

import gzip
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest
import torch
from structlog.testing import capture_logs

from app.cli import pull as pull_module
from app.cli.pull import pull_missing
from app.cli.serve import or_pulled_models
from app.errors import PullError, SettingsError
from app.hub import fetch as fetch_module
from app.hub.origin import read_origin
from app.hub.requests import FileServer, Hub
from app.settings import Settings
from model.checkpoint.reader import load_checkpoint
from tests.app.cli.conftest import Attend
from tests.app.hub.fake_hub import COMMIT, FakeHub
from tests.argos_package import pack, write_package
from tests.ctranslate2_folder import FAMILIES, write_folder
from tests.firefox_model import write_registry
from tests.marian_folder import MakeFolder, change_json, write_json

WEIGHTS = "model.safetensors"
Serving = Callable[[Path], FakeHub]


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEND_CACHE", str(tmp_path / "cache"))
    for name in ("ATTEND_MODELS", "HF_ENDPOINT", "HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Serving:
    """Serve a folder on a fake hub, with additional files that no import needs."""

    def put(folder: Path) -> FakeHub:
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        files |= {"tf_model.h5": b"x" * 100, "README.md": b"---\nlicense: mit\n---\n# A model\n"}
        hub = FakeHub(files, lfs={WEIGHTS, "pytorch_model.bin", "source.spm"})
        make = partial(Hub, "https://hub.test", None, hub.transport(), hub.slept.append)
        monkeypatch.setattr(pull_module, "Hub", make)
        return hub

    return put


def test_a_model_is_fetched_imported_and_listed(
    attend: Attend, make_folder: MakeFolder, serving: Serving, tmp_path: Path
) -> None:
    hub, shelf = serving(make_folder()), tmp_path / "models"
    pulled = attend("pull", "opus-mt-en-fr", shelf)
    assert pulled.exit_code == 0, pulled.stderr
    assert pulled.stdout == f"wrote {shelf}/opus-mt-en-fr: opus-mt-en-fr, en to fr\n"
    fetched = [request.url.path.rpartition("/")[2] for request in hub.requests[1:]]
    assert "tf_model.h5" not in fetched
    assert fetched[-1] == WEIGHTS  # after the files that decide whether the model is supported
    folder = shelf / "opus-mt-en-fr"
    assert load_checkpoint(folder).config.directions == [("en", "fr")]
    origin = read_origin(folder)
    assert origin
    assert (origin.repository, origin.revision) == ("Helsinki-NLP/opus-mt-en-fr", COMMIT)
    assert origin.licence == "cc-by-4.0"
    assert (folder / "README.md").read_bytes().endswith(b"# A model\n")
    assert [path.name for path in shelf.iterdir()] == ["opus-mt-en-fr"]
    assert not list((tmp_path / "cache").rglob("*.safetensors"))
    n_before = len(hub.requests)
    again = attend("pull", "Helsinki-NLP/opus-mt-en-fr", shelf, "--revision", COMMIT)
    assert (again.exit_code, len(hub.requests)) == (0, n_before + 1)
    assert "already at revision c0ffee000000" in again.stdout
    [row] = json.loads(attend("models", shelf, "--json").stdout)
    assert (row["name"], row["directions"]) == ("opus-mt-en-fr", [["en", "fr"]])
    assert (row["licence"], row["precision"], row["fault"]) == ("cc-by-4.0", "int8", None)
    assert row["disk_bytes"] > row["parameters"] > 0
    assert row["memory_bytes"] > 0
    table = attend("models", shelf, "--verify").stdout
    assert "opus-mt-en-fr" in table
    assert "en → fr" in table


def test_quickmt_is_fetched_as_it_is_published(
    attend: Attend, serving: Serving, tmp_path: Path
) -> None:
    family = FAMILIES["eole, quickmt"]._replace(shared=True)
    folder = write_folder(tmp_path / "quickmt", family)
    (folder / "sentencepiece.model").rename(folder / "joint.spm.model")
    for other in ("eole-config.yaml", "joint.eole.vocab", "joint.spm.vocab"):
        (folder / other).write_text("not read: -\n")
    hub = serving(folder)
    hub.repository = "quickmt/quickmt-fr-en"
    hub.files |= {"eole-model/config.json": b"{}", "eole-model/model.00.safetensors": b"x" * 9}
    pulled = attend("pull", "quickmt-fr-en", tmp_path / "models")
    assert pulled.exit_code == 0, pulled.stderr
    config = load_checkpoint(tmp_path / "models" / "quickmt-fr-en").config
    assert (config.directions, config.transformer.n_encoder_layers) == ([("fr", "en")], 3)
    fetched = {request.url.path.rpartition("/")[2] for request in hub.requests[1:]}
    assert not fetched & {"model.00.safetensors", "joint.spm.vocab", "joint.eole.vocab"}


def test_hplt_is_fetched_as_it_is_published(
    attend: Attend, make_folder: MakeFolder, serving: Serving, tmp_path: Path
) -> None:
    folder = make_folder(pickled=True, dtype=torch.float16)
    shutil.copy(folder / "source.spm", folder / "model.en-mt.spm")
    (folder / "model.npz.best-chrf.npz").write_bytes(b"not fetched")
    hub = serving(folder)
    hub.repository = name = "HPLT/translate-en-mt-v1.0-hplt_opus"
    pulled = attend("pull", name, tmp_path / "models")
    assert pulled.exit_code == 0, pulled.stderr
    assert load_checkpoint(tmp_path / "models" / name.rpartition("/")[2])
    assert not any(request.url.path.endswith(".npz") for request in hub.requests)


def test_an_interrupted_pull_is_resumed(
    attend: Attend, make_folder: MakeFolder, serving: Serving, tmp_path: Path
) -> None:
    hub = serving(make_folder())

    def unavailable(request: httpx.Request) -> httpx.Response | None:
        return httpx.Response(503) if "range" in request.headers else None

    size = len(hub.files[WEIGHTS])
    hub.cut, hub.cut_after = WEIGHTS, [size // 2]
    hub.faults = unavailable
    failed = attend("pull", "opus-mt-en-fr", tmp_path / "models")
    assert failed.exit_code == 1
    assert failed.stderr.endswith("503; run the command again to resume\n")
    assert not (tmp_path / "models" / "opus-mt-en-fr").exists()
    hub.faults = lambda _: None
    hub.requests.clear()
    assert attend("pull", "opus-mt-en-fr", tmp_path / "models").exit_code == 0
    [weights] = [one for one in hub.requests if one.url.path.endswith(WEIGHTS)]
    assert weights.headers["range"] == f"bytes={size // 2}-"
    assert len(hub.requests) == 2  # the listing, and the missing part


@pytest.mark.parametrize(
    ("model_type", "fault"),
    [("bart", "is a 'bart' model"), (None, "config.json has no model_type")],
)
def test_an_architecture_that_cannot_be_imported_is_refused_before_its_weights(
    attend: Attend,
    make_folder: MakeFolder,
    serving: Serving,
    tmp_path: Path,
    model_type: str | None,
    fault: str,
) -> None:
    folder = make_folder()
    change_json(folder / "config.json", model_type=model_type)
    hub = serving(folder)
    refused = attend("pull", "opus-mt-en-fr", tmp_path / "models")
    assert refused.exit_code == 1
    assert f": {fault}; attend imports marian, m2m_100\n" in refused.stderr
    assert not any(request.url.path.endswith(WEIGHTS) for request in hub.requests)


def test_a_repository_without_weights_is_reported(
    attend: Attend, make_folder: MakeFolder, serving: Serving, tmp_path: Path
) -> None:
    hub = serving(make_folder())
    del hub.files[WEIGHTS]
    refused = attend("pull", "opus-mt-en-fr", tmp_path / "models")
    assert "has no weights that can be imported" in refused.stderr
    assert ".h5" in refused.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("t5-small", "t5-small: neither a folder nor a name on the hub"),
        ("a/b/c", "neither a folder nor a name"),
        ("../secret", "neither a folder nor a name"),
        ("someone/else", "someone/else: no such model on https://hub.test, or it is private"),
    ],
)
def test_an_unknown_name_is_refused(
    attend: Attend,
    make_folder: MakeFolder,
    serving: Serving,
    tmp_path: Path,
    name: str,
    message: str,
) -> None:
    serving(make_folder())
    refused = attend("pull", name, tmp_path / "models")
    assert refused.exit_code == 1
    assert message in refused.stderr


def test_revisions_are_checked(
    attend: Attend, make_folder: MakeFolder, serving: Serving, tmp_path: Path
) -> None:
    serving(make_folder())
    unknown = attend("pull", "opus-mt-en-fr", tmp_path, "--revision", "v9")
    assert "has no revision 'v9'" in unknown.stderr
    odd = attend("pull", "opus-mt-en-fr", tmp_path, "--revision", "../x")
    assert "not the name of a revision" in odd.stderr


def test_an_existing_model_is_replaced_only_with_the_flag(
    attend: Attend, make_folder: MakeFolder, serving: Serving, tmp_path: Path
) -> None:
    folder, shelf = make_folder(), tmp_path / "models"
    serving(folder)
    assert attend("pull", folder, shelf).exit_code == 0  # a folder: no network
    shutil.move(shelf / "opus-mt", shelf / "opus-mt-en-fr")
    refused = attend("pull", "opus-mt-en-fr", shelf)
    assert refused.exit_code == 1
    assert "has another model; --replace replaces it" in refused.stderr
    assert attend("pull", "opus-mt-en-fr", shelf, "--replace").exit_code == 0
    origin = read_origin(shelf / "opus-mt-en-fr")
    assert origin
    assert origin.revision == COMMIT
    assert [path.name for path in shelf.iterdir()] == ["opus-mt-en-fr"]


def test_a_folder_is_pulled_without_a_network(
    attend: Attend, make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("ATTEND_MODELS", str(tmp_path / "shelf"))
    assert attend("pull", make_folder()).exit_code == 0
    assert attend("models", tmp_path / "shelf").exit_code == 0
    offline = attend("pull", "opus-mt-en-fr")
    assert "HF_HUB_OFFLINE is set; unset it, or give a folder" in offline.stderr
    again = attend("pull", make_folder())
    assert "exists; --replace replaces it" in again.stderr
    commit = tmp_path / "models--Helsinki-NLP--opus-mt-en-de" / "snapshots" / "1234abcd"
    shutil.copytree(make_folder(), commit)
    assert f"wrote {tmp_path / 'shelf' / 'opus-mt-en-de'}" in attend("pull", commit).stdout
    imported = attend("import", "marian", commit, tmp_path / "ours").stdout
    assert "ours: opus-mt-en-de, " in imported


def test_an_own_checkpoint_is_put_on_the_shelf(
    attend: Attend, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    own, shelf = shutil.copytree(tiny_checkpoint, tmp_path / "mine"), tmp_path / "models"
    pulled = attend("pull", own, shelf)
    assert pulled.exit_code == 0, pulled.stderr
    assert "mine, en to fr, fr to en" in pulled.stdout
    assert load_checkpoint(shelf / "mine").digest == load_checkpoint(own).digest
    (own / "model.safetensors").write_bytes(b"broken")
    assert attend("pull", own, shelf, "--replace").exit_code == 1
    assert load_checkpoint(shelf / "mine")


def test_a_failed_import_leaves_no_files(
    attend: Attend, make_folder: MakeFolder, serving: Serving, tmp_path: Path
) -> None:
    hub = serving(make_folder())
    del hub.files["vocab.json"]
    failed = attend("pull", "opus-mt-en-fr", tmp_path / "models")
    assert failed.exit_code == 1
    assert "vocab.json" in failed.stderr
    assert list((tmp_path / "models").iterdir()) == []


def test_a_full_disk_is_reported_before_the_download(
    attend: Attend, make_folder: MakeFolder, serving: Serving, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    hub = serving(make_folder())
    usage = shutil.disk_usage(tmp_path)._replace(free=1_000_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    refused = attend("pull", "opus-mt-en-fr", tmp_path / "models")
    assert refused.exit_code == 1
    assert "MB in" in refused.stderr
    assert "where 1 MB are free" in refused.stderr
    assert not any(request.url.path.endswith(WEIGHTS) for request in hub.requests)


def test_models_lists_models_that_do_not_load(
    attend: Attend, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    empty = attend("models", tmp_path)
    assert (empty.exit_code, empty.stdout.count("attend pull")) == (0, 1)
    shutil.copytree(tiny_checkpoint, tmp_path / "fine")
    shutil.copytree(tiny_checkpoint, tmp_path / "cut")
    shutil.copytree(tiny_checkpoint, tmp_path / "nan")
    (tmp_path / "not-a-model").mkdir()
    weights = tmp_path / "cut" / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1])
    content = (tmp_path / "nan" / WEIGHTS).read_bytes()
    (tmp_path / "nan" / WEIGHTS).write_bytes(content[:-4] + b"\xff\xff\xff\x7f")
    result = attend("models", tmp_path, "--json")
    assert result.exit_code == 1
    faults = {Path(row["folder"]).name: row["fault"] for row in json.loads(result.stdout)}
    assert faults["fine"] is faults["nan"] is None
    assert "damaged" in faults["cut"]
    assert "an empty folder; attend serves" in faults["not-a-model"]
    verified = attend("models", tmp_path, "--json", "--verify", "--precision", "fp32")
    rows = {Path(row["folder"]).name: row for row in json.loads(verified.stdout)}
    assert "NaN" in rows["nan"]["fault"]
    assert rows["fine"]["precision"] == "float32"
    missing = attend("models", tmp_path / "nowhere")
    assert missing.stderr.count("expected a folder of models") == 1


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A mirror of the registry of Firefox models."""
    return write_registry(tmp_path, ("en-fr", "fr-en", "en-de"))


def test_a_pair_of_firefox_is_pulled_once(attend: Attend, registry: Path, tmp_path: Path) -> None:
    shelf = tmp_path / "models"
    pulled = attend("pull", "firefox:en-fr", shelf, "--registry", registry)
    assert pulled.stdout == f"wrote {shelf}/firefox-en-fr: firefox-en-fr, en to fr\n"
    origin = read_origin(shelf / "firefox-en-fr")
    assert origin
    assert (origin.repository, origin.licence) == ("firefox:en-fr/tiny", "MPL-2.0")
    again = attend("pull", "firefox:en-fr", shelf, "--registry", registry)
    assert again.stdout == f"{shelf}/firefox-en-fr: already there, tiny\n"
    listed = json.loads(attend("models", shelf, "--json").stdout)
    assert [(one["name"], one["licence"], one["fault"]) for one in listed] == [
        ("firefox-en-fr", "MPL-2.0", None)
    ]
    assert not list((tmp_path / "cache").rglob("*.bin"))


def test_a_set_of_firefox_models(attend: Attend, registry: Path, tmp_path: Path) -> None:
    result = attend("pull", "firefox:fr,en", tmp_path / "models", "--registry", registry)
    assert result.exit_code == 0, result.stderr
    found = sorted(path.name for path in (tmp_path / "models").iterdir())
    assert found == ["firefox-en-fr", "firefox-fr-en"]
    everything = attend("pull", "firefox:all", tmp_path / "models", "--registry", registry)
    assert everything.stdout.splitlines()[-1].endswith("firefox-en-de, en to de")


def test_an_unknown_firefox_pair_is_reported_in_one_line(attend: Attend, registry: Path) -> None:
    result = attend("pull", "firefox:en-xx", "--registry", registry)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "attend: firefox:en-xx: no such model; name a pair, languages such as en,fr,de, or all. "
        "There are: en-de, en-fr, fr-en"
    ]


def test_a_set_continues_after_a_failed_model(
    attend: Attend, registry: Path, tmp_path: Path
) -> None:
    [damaged] = (registry / "en-fr").glob("model.*")
    damaged.write_bytes(gzip.compress(b"nothing"))
    result = attend("pull", "firefox:all", tmp_path / "models", "--registry", registry)
    assert result.exit_code == 1
    found = sorted(path.name for path in (tmp_path / "models").iterdir())
    assert found == ["firefox-en-de", "firefox-fr-en"]
    first, *_, last = result.stderr.splitlines()
    assert "firefox:en-fr/tiny: model.enfr.intgemm.alphas.bin: " in result.stderr, first
    assert last == "attend: 1 of 3 models are missing, for the reasons above"


@pytest.mark.parametrize("part", ["vocab.enfr.spm", "lex.50.50.enfr.s2t.bin"])
def test_a_damaged_file_without_a_digest_is_fetched_again(
    attend: Attend, registry: Path, tmp_path: Path, part: str
) -> None:
    published = registry / "en-fr" / f"{part}.gz"
    whole = published.read_bytes()
    published.write_bytes(gzip.compress(b"\xff\xfe damaged"))
    pull = ("pull", "firefox:en-fr", tmp_path / "models", "--registry", registry)
    failed = attend(*pull, "--keep-download")
    assert failed.exit_code == 1
    assert "Traceback" not in failed.stderr
    published.write_bytes(whole)
    again = attend(*pull)
    assert again.exit_code == 0, again.stderr


def test_a_download_of_a_registry_is_kept_on_request(
    attend: Attend, registry: Path, tmp_path: Path
) -> None:
    attend("pull", "firefox:en-fr", tmp_path / "models", "--registry", registry, "--keep-download")
    assert {path.suffix for path in (tmp_path / "cache" / "firefox").rglob("*.*")} == {
        ".bin", ".spm",
    }  # fmt: skip


def test_two_pulls_of_a_model_at_once_are_refused(
    attend: Attend, registry: Path, tmp_path: Path
) -> None:
    pull = ("pull", "firefox:en-fr", tmp_path / "models", "--registry", registry)
    with fetch_module.only_one(tmp_path / "cache" / "firefox-en-fr", "the other"):
        second = attend(*pull)
    assert (second.exit_code, second.stderr) == (
        1, "attend: firefox:en-fr/tiny: another process is fetching it\n",
    )  # fmt: skip
    assert attend(*pull).exit_code == 0


@pytest.mark.parametrize("name", ["firefox:en-fr", "argos:en-fr"])
def test_offline_only_a_folder_is_a_registry(
    attend: Attend, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(httpx.Client, "send", lambda *_, **__: pytest.fail("a request"))
    for flags in ((), ("--registry", "https://mirror.test/models.json")):
        refused = attend("pull", name, tmp_path / "models", *flags)
        assert refused.exit_code == 1
        assert "HF_HUB_OFFLINE is set; unset it, or give a folder" in refused.stderr
    pulled = attend("pull", "firefox:en-fr", tmp_path / "models", "--registry", registry)
    assert pulled.exit_code == 0, pulled.stderr


def test_a_set_leaves_other_versions_that_are_there(
    attend: Attend, registry: Path, tmp_path: Path
) -> None:
    shelf = tmp_path / "models"
    attend("pull", "firefox:en-fr", shelf, "--registry", registry)
    listing = json.loads((registry / "models.json").read_text())
    listing["models"]["en-fr"][0]["files"]["model"]["uncompressedHash"] = "1" * 64
    (registry / "models.json").write_text(json.dumps(listing))
    before = read_origin(shelf / "firefox-en-fr")
    result = attend("pull", "firefox:en,fr", shelf, "--registry", registry)
    assert result.exit_code == 0
    assert "firefox-en-fr: has firefox:en-fr/tiny at revision" in result.stderr
    assert "--replace replaces it" in result.stderr
    assert read_origin(shelf / "firefox-en-fr") == before
    assert (shelf / "firefox-fr-en").is_dir()
    replaced = attend("pull", "firefox:en,fr", shelf, "--registry", registry, "--replace")
    assert replaced.exit_code == 1  # its digest is wrong
    assert read_origin(shelf / "firefox-en-fr") == before


def test_models_shows_updates_only_on_request(
    attend: Attend, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = tmp_path / "models"
    attend("pull", "firefox:all", shelf, "--registry", registry)
    listing = json.loads((registry / "models.json").read_text())
    listing["models"]["en-fr"][0]["files"]["model"]["uncompressedHash"] = "1" * 64
    better = dict(listing["models"]["en-de"][0], architecture="base")
    listing["models"]["en-de"].append(better)
    (registry / "models.json").write_text(json.dumps(listing))
    plain = json.loads(attend("models", shelf, "--json").stdout)
    assert {one["update"] for one in plain} == {None}
    result = attend("models", shelf, "--json", "--updates", "--registry", registry)
    assert {one["name"]: one["update"] for one in json.loads(result.stdout)} == {
        "firefox-en-fr": "firefox:en-fr/tiny", "firefox-en-de": "firefox:en-de/base",
        "firefox-fr-en": None,
    }  # fmt: skip
    assert "Update" in attend("models", shelf, "--updates", "--registry", registry).stdout
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    offline = attend("models", shelf, "--updates")
    assert offline.exit_code == 1
    assert "HF_HUB_OFFLINE is set; unset it, or give a folder" in offline.stderr
    assert attend("models", shelf, "--updates", "--registry", registry).exit_code == 0


def test_a_server_fetches_the_models_that_its_languages_lack(
    registry: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("ATTEND_MODELS", "ATTEND_CHECKPOINT"):
        monkeypatch.delenv(name, raising=False)
    flags = {"pull": str(registry), "cache": tmp_path / "cache"}
    settings = or_pulled_models(Settings.parse(languages="fr,en", **flags))
    assert (settings.models, settings.checkpoint) == (tmp_path / "attend" / "models", ())
    pull_missing(settings)
    assert settings.models
    assert sorted(one.name for one in settings.models.iterdir()) == [
        "firefox-en-fr", "firefox-fr-en",
    ]  # fmt: skip
    shutil.move(registry, tmp_path / "away")
    pull_missing(settings)  # which requests nothing
    pull_missing(settings.model_copy(update={"pull": None, "languages": ("en", "de")}))
    wanting = settings.model_copy(update={"languages": ("en", "fr", "de")})
    with pytest.raises(PullError, match=r"'languages': .* add en: fr,de,en"):
        pull_missing(settings.model_copy(update={"languages": ("fr", "de")}))
    with pytest.raises(PullError, match="'pull': firefox:en,fr,de could not be fetched"):
        pull_missing(wanting)
    assert "expected models.json, a registry of Firefox's models" in capfd.readouterr().err
    shutil.move(tmp_path / "away", registry)
    with capture_logs() as logged:
        pull_missing(wanting)  # German has one direction
    assert [one for one in logged if one["event"] == "no model of a pair"] == [
        {"event": "no model of a pair", "log_level": "warning", "source": "de", "target": target}
        for target in ("en", "fr")
    ]
    assert (settings.models / "firefox-en-de").is_dir()


def test_languages_to_fetch_are_required() -> None:
    with pytest.raises(SettingsError, match="'pull': needs 'languages', such as en,fr,de"):
        Settings.parse(pull="firefox")


def test_a_package_of_argos_is_pulled_and_its_name_repeated(
    attend: Attend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = pack(write_package(tmp_path / "en_fr"), tmp_path / "en_fr.argosmodel").read_bytes()
    link = "https://argos.example/en_fr.argosmodel"
    entry = {"from_code": "en", "to_code": "fr", "package_version": "1.9", "links": [link]}
    write_json(tmp_path / "index.json", [entry])

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=httpx.ByteStream(package))

    monkeypatch.setattr(
        "app.hub.firefox_registry.server_of",
        lambda _: FileServer(link, httpx.MockTransport(answer)),
    )
    monkeypatch.setenv("ARGOS_PACKAGE_INDEX", str(tmp_path))
    shelf = tmp_path / "models"
    first = attend("pull", "argos:en-fr", shelf)
    assert first.exit_code == 0, first.stderr
    assert f"wrote {shelf / 'argos-en-fr'}: argos-en-fr, " in first.stdout
    again = attend("pull", "argos:en-fr", shelf)
    assert "already there, version 1.9" in again.stdout
    assert attend("pull", "argos:en-ja", shelf).exit_code == 1
