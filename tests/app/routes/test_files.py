"""POST /translate_file and GET /download_file."""

import asyncio
import io
import threading
import urllib.request
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import main
from app.documents.files import FORMATS, FileDocument
from app.text.markup.tokens import xml_tokens
from app.text.placeholders import find_placeholders
from app.translation import file_service
from app.translation.file_service import FileService, TranslatedFile
from tests.app.conftest import Client, Serve
from tests.app.documents.archives import PARTS, sample_archive
from tests.app.documents.word_xml import run, word_file
from tests.app.documents.xml.test_xliff import XLIFF_1, XLIFF_2
from tests.app.fake_engine import FakeEngine
from tests.app.server_process import serving

FILES: dict[str, bytes] = {
    "a.txt": b"\xef\xbb\xbfThe house.\r\n\r\n42\r\n",
    "a.html": b"<p class=x>The <b>old</b> cat &amp; dog</p><script>f()</script>",
    "a.xml": b"<?xml version='1.0'?><r><t>The <b>old</b> house</t></r>",
    "a.md": b"# The *old* house\n\n- green `x`\n",
    "a.srt": b"1\n00:00:01,000 --> 00:00:02,000\nThe house.\n",
    "a.po": b'msgid "The house"\nmsgstr ""\n',
    "a.json": b'{"key": "The house", "n": 1.50}',
    "a.docx": word_file(run("The ") + run("old", "<w:b/>") + run(" house")),
    "a.vtt": b"WEBVTT\n\n00:01.000 --> 00:02.000\nThe house.\n",
    "a.csv": b'id,"The old house"\n1,2\n',
    "a.tsv": b"1\tThe old house\n",
    "a.xlf": XLIFF_1.encode(),
    "a.xliff": XLIFF_2.encode(),
} | {f"a{suffix}": sample_archive(suffix) for suffix in PARTS if suffix != ".docx"}
KEPT: dict[str, list[bytes]] = {
    "a.txt": [b"\xef\xbb\xbf", b"\r\n\r\n42\r\n"],
    "a.html": [b"<p class=x>", b"<b>", b"</b>", b"</p><script>f()</script>"],
    "a.xml": [b"<?xml version='1.0'?><r><t>", b"<b>", b"</t></r>"],
    "a.md": [b"# ", b"\n\n- ", b"`x`", b"\n"],
    "a.srt": [b"1\n00:00:01,000 --> 00:00:02,000\n"],
    "a.po": [b'msgid "The house"\nmsgstr "'],
    "a.json": [b'{"key": "', b'", "n": 1.50}'],
    "a.vtt": [b"WEBVTT\n\n00:01.000 --> 00:02.000\n"],
    "a.csv": [b'"', b'"\n1,2\n'],
    "a.tsv": [b"1\t", b"\n"],
    "a.xlf": [b"</source>\n  <target>", b"Fini"],
    "a.xliff": [b"</source><target>", b"Fini"],
}


async def send(
    client: httpx.AsyncClient, name: str, data: bytes, accept: str = "*/*", **fields: str
) -> httpx.Response:
    return await client.post(
        "/translate_file",
        files={"file": (name, data)},
        data={"source": "en", "target": "fr"} | fields,
        headers={"Accept": accept},
    )


@pytest.mark.parametrize("name", FILES)
async def test_a_file_is_translated_and_fetched(served: Client, name: str) -> None:
    answer = await send(served, name, FILES[name])
    assert answer.status_code == httpx.codes.OK, answer.text
    assert answer.json().keys() == {"translatedFileUrl"}
    url = httpx.URL(answer.json()["translatedFileUrl"])
    assert url.path.startswith("/download_file/")
    fetched = await served.get(url)
    direct = await send(served, name, FILES[name], "application/octet-stream")
    suffix = Path(name).suffix
    media_type = FORMATS[suffix].media_type
    assert fetched.headers["content-type"].partition(";")[0] == media_type
    assert f"filename*=UTF-8''a.fr{suffix}" in fetched.headers["content-disposition"]
    assert fetched.headers["content-disposition"].startswith("attachment")
    assert fetched.content != FILES[name]
    # A JSON answer has the URL of the file.
    is_json = media_type == "application/json"
    expected = "application/octet-stream" if is_json else fetched.headers["content-type"]
    assert direct.headers["content-type"] == expected
    if suffix in PARTS:
        for entry in (archive := zipfile.ZipFile(io.BytesIO(fetched.content))).namelist():
            if entry.endswith(".xml"):
                assert list(xml_tokens(archive.read(entry).decode()))
        return
    assert direct.content == fetched.content
    at = 0
    for kept in KEPT[name]:
        assert kept in fetched.content[at:], kept
        at = fetched.content.index(kept, at) + len(kept)


def test_the_kinds_of_files_are_all_there() -> None:
    assert {Path(name).suffix for name in FILES} == FORMATS.keys() - {".pdf"}


async def test_a_text_of_a_file_is_translated_as_it_is_alone(served: Client) -> None:
    texts = ["The house is green.", "A dog sees {name} and the old cat.", "The house is green."]
    file = await send(served, "a.txt", "\n".join(texts).encode(), "text/plain")
    alone = await served.post("/translate", json={"text": texts, "target": "fr"})
    lines = [one["text"].replace("\n", " ") for one in alone.json()["translations"]]
    assert file.text == "\n".join(lines)
    assert len(find_placeholders(file.text)) == 1


async def test_a_file_may_be_pivoted(serve: Serve, row_of_checkpoints: tuple[Path, Path]) -> None:
    text, page = "le chat voit", b"<p>le <b>chat</b> voit</p>"
    fields = {"source": "fr", "target": "de"}
    async with serve(checkpoint=row_of_checkpoints) as client:
        plain = await send(client, "a.txt", text.encode(), "text/plain", **fields)
        tagged = await send(client, "a.html", page, "text/html", **fields)
        alone = await client.post("/translate", json={"text": text} | fields)
    assert plain.text == alone.json()["translations"][0]["text"].replace("\n", " ")
    assert tagged.text.count("<b>") == tagged.text.count("</b>") == 1
    assert tagged.text.startswith("<p>")


async def test_the_language_of_a_file_is_found_out(served: Client) -> None:
    text = b"La maison est verte et le chien est vieux."
    back = await send(served, "a.txt", text, "text/plain", source="auto", target="en")
    same = await send(served, "a.txt", text, "text/plain", source="auto", target="fr")
    assert "filename*=UTF-8''a.en.txt" in back.headers["content-disposition"]
    assert back.content != text
    assert same.content == text


async def test_invalid_files_are_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    big = b"The house. " * 100
    monkeypatch.setattr(main, "STORED_FILES", 0.025)
    async with serve(max_file_bytes=2000, max_file_characters=500) as client:
        answers = {
            "suffix": await send(client, "a.exe", b"x"),
            "json": await send(client, "a.json", b"{\n"),
            "encoding": await send(client, "a.txt", b"\xff"),
            "language": await send(client, "a.txt", b"x", target="de"),
            "characters": await send(client, "a.txt", big),
            "bytes": await send(client, "a.txt", big * 2),
            "body": await send(client, "a.txt", bytes(200_000)),
            "stored": await send(client, "a.json", b'["The house", ' + b"1," * 30 + b"1]"),
            "no file": await client.post("/translate_file", files={"source": (None, "en")}),
            "no name": await client.post("/translate_file", files={"file": (None, "x")}),
            "two files": await client.post(
                "/translate_file", files=[("file", ("a.txt", b"x")), ("b", ("b.txt", b"x"))]
            ),
            "no form": await client.post("/translate_file", json={}),
            "broken form": await client.post(
                "/translate_file", content=b"x", headers={"Content-Type": "multipart/form-data"}
            ),
            "half a form": await client.post(
                "/translate_file",
                content=b'--x\r\nContent-Disposition: form-data; name="source"\r\n\r\nen\r\n',
                headers={"Content-Type": "multipart/form-data; boundary=x"},
            ),
            "two targets": await client.post(
                "/translate_file",
                files={"file": ("a.txt", b"x")},
                data={"target": ["fr", "en"]},
            ),
            "gone": await client.get("/download_file/AAAA.txt"),
        }
        statuses = {name: answer.status_code for name, answer in answers.items()}
        assert (await client.get("/readyz")).status_code == httpx.codes.OK
    assert statuses == {
        "suffix": 400, "json": 400, "encoding": 400, "language": 400, "characters": 400,
        "bytes": 413, "body": 413, "stored": 400, "no file": 400, "no name": 400,
        "two files": 400, "no form": 400, "broken form": 400, "half a form": 400,
        "two targets": 400, "gone": 404,
    }  # fmt: skip
    errors = {name: answer.json() for name, answer in answers.items()}
    assert all(error.keys() == {"error"} for error in errors.values())
    assert errors["json"]["error"].startswith("line 2, column 1: not JSON")
    assert ".docx" in errors["suffix"]["error"]
    assert errors["half a form"]["error"].endswith("it ends before its closing boundary")
    assert errors["two targets"]["error"] == "target: Field given several times, expected once"


async def test_files_need_a_key_and_downloads_no_other_key(serve: Serve) -> None:
    async with serve(FakeEngine(), api_keys="mine,theirs", character_limit=25) as client:
        without = await send(client, "a.txt", b"The house.")
        wrong = await send(client, "a.txt", b"The house.", api_key="yours")
        right = await send(client, "a.txt", b"The house.", api_key="mine")
        in_query = await client.post(
            "/translate_file?api_key=mine",
            files={"file": ("a.txt", b"The dog.")},
            data={"source": "en", "target": "fr"},
        )
        url = right.json()["translatedFileUrl"]
        fetched = [
            (await client.get(url, headers=headers)).status_code
            for headers in (
                {}, {"Authorization": "Bearer mine"}, {"Authorization": "Bearer theirs"},
                {"Authorization": "Bearer wrong"},
            )
        ]  # fmt: skip
        assert fetched == [200, 200, 404, 403]
        client.headers["Authorization"] = "Bearer mine"
        used_up = await send(client, "a.txt", b"The old cat.")
        refused = await send(client, "a.json", b"[")
        usage = (await client.get("/v2/usage")).json()["character_count"]
    answers = (without, wrong, right, in_query, used_up, refused)
    assert [answer.status_code for answer in answers] == [400, 403, 200, 200, 403, 400]
    assert usage == 18


async def test_concurrent_files_are_limited(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_service, "MAX_FILES", 1)
    engine = FakeEngine(gate=threading.Semaphore(1))  # for the warm-up
    async with serve(engine) as client:
        first = asyncio.create_task(send(client, "a.txt", b"The house."))
        assert await asyncio.to_thread(_is_working, engine)
        second = await send(client, "a.txt", b"The house.")
        assert second.status_code == httpx.codes.TOO_MANY_REQUESTS
        assert int(second.headers["retry-after"]) >= 1
        engine.release(1000)
        assert (await first).status_code == httpx.codes.OK
        assert (await send(client, "a.txt", b"The house.")).status_code == httpx.codes.OK


def _is_working(engine: FakeEngine) -> bool:
    engine.in_step.clear()
    return engine.in_step.wait(timeout=60)


async def test_a_file_has_a_deadline(serve: Serve) -> None:
    engine = FakeEngine(gate=threading.Semaphore(1))
    async with serve(engine, file_timeout=0.05) as client:
        answer = await send(client, "a.txt", b"The house.")
        assert answer.status_code == httpx.codes.GATEWAY_TIMEOUT
        engine.release(1000)


async def test_an_upload_has_a_deadline(serve: Serve) -> None:
    async def slowly() -> AsyncIterator[bytes]:
        yield b"--x\r\n"
        await asyncio.sleep(10)

    async with serve(FakeEngine(), request_timeout=0.05) as client:
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = await client.post("/translate_file", content=slowly(), headers=headers)
    assert answer.status_code == httpx.codes.GATEWAY_TIMEOUT
    assert answer.json() == {"error": "the file did not arrive within 0.05 s"}


async def test_a_name_outside_of_ascii_as_dotnet_sends_it(client: Client) -> None:
    encoded = '"=?utf-8?B?csOpc3Vtw6kudHh0?="'
    extended = "UTF-8''r%C3%A9sum%C3%A9"
    fields = {
        "name=source": "en",
        "name=target": "fr",
        f"name=file; filename={encoded}; filename*={extended}.txt": "the cat",
    }
    parts = [
        f"--X\r\nContent-Disposition: form-data; {parameters}\r\n\r\n{value}\r\n"
        for parameters, value in fields.items()
    ]
    headers = {"Content-Type": "multipart/form-data; boundary=X", "Accept": "text/plain"}
    body = "".join([*parts, "--X--\r\n"])
    response = await client.post("/translate_file", content=body, headers=headers)
    assert response.status_code == httpx.codes.OK, response.text
    assert response.headers["Content-Disposition"].endswith(f"{extended}.fr.txt")


async def test_a_name_is_not_a_path_and_json_is_accepted(client: Client) -> None:
    for name in ("../../a b.json", "C:\\x\\a b.json"):
        answer = await send(client, name, b'["The house"]', "application/json")
        fetched = await client.get(answer.json()["translatedFileUrl"])
        disposition = fetched.headers["content-disposition"]
        assert disposition == "attachment; filename*=UTF-8''a%20b.fr.json"


@pytest.mark.parametrize(
    ("host", "public_url", "base"),
    [
        ("127.0.0.1:8000", None, "http://127.0.0.1:8000"),
        ("[::1]:8000", None, "http://[::1]:8000"),
        ("localhost:8000", None, "http://localhost:8000"),
        ("evil.example", None, ""),
        ("127.0.0.1.evil.example", None, ""),
        ("evil.example", "https://good.example/attend/", "https://good.example/attend"),
    ],
)
async def test_a_host_name_is_never_echoed(
    serve: Serve, host: str, public_url: str | None, base: str
) -> None:
    async with serve(FakeEngine(), public_url=public_url) as client:
        client.headers["Host"] = host
        answer = await send(client, "a.txt", b"The house.")
        path = answer.json()["translatedFileUrl"].removeprefix(base)
        assert path.startswith("/download_file/")
        assert (await client.get(path)).status_code == 200


async def test_others_are_served_while_a_long_file_is_translated(serve: Serve) -> None:
    engine = FakeEngine(n_slots=16)
    lines = "\n".join(f"The house {number} is green." for number in range(2000)).encode()
    async with serve(engine) as client:
        file = asyncio.create_task(send(client, "a.txt", lines))
        await asyncio.to_thread(_is_working, engine)
        answer = await client.post("/translate", json={"text": "The dog.", "target": "fr"})
        assert answer.status_code == httpx.codes.OK
        assert not file.done()
        assert (await file).status_code == httpx.codes.OK


def test_a_form_as_clients_of_the_dialect_send_it(tiny_checkpoint: Path, kernels: None) -> None:
    """A form as LibreTranslate clients send it, with urllib and a real server."""
    boundary = "----------------0123456789"
    parts = [("source", "en"), ("target", "fr"), ("api_key", "")]
    content = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in parts
    )
    content += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="résumé.txt"\r\n'
        f"Content-Type: text/plain\r\n\r\nThe house.\n\r\n--{boundary}--\r\n"
    )
    with serving(tiny_checkpoint) as (_, client):
        request = urllib.request.Request(
            f"{client.base_url}/translate_file",
            content.encode(),
            {"Content-Type": f"multipart/form-data; boundary={boundary}"},
        )
        with urllib.request.urlopen(request) as answer:
            url = httpx.Response(200, content=answer.read()).json()["translatedFileUrl"]
        assert url.startswith(str(client.base_url))
        with urllib.request.urlopen(url) as file:
            assert "r%C3%A9sum%C3%A9.fr.txt" in file.headers["content-disposition"]
            assert file.read().endswith(b"\n")


async def test_large_files_take_turns(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one is in memory at a time."""
    at_work = most = 0
    open_text = FORMATS[".txt"].open

    def opened(data: bytes) -> FileDocument:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        return open_text(data)

    write = FileService.translate_file

    async def translate(*args: Any, **options: Any) -> TranslatedFile:
        nonlocal at_work
        try:
            await asyncio.sleep(0.01)
            return await write(*args, **options)
        finally:
            at_work -= 1

    monkeypatch.setitem(FORMATS, ".txt", FORMATS[".txt"]._replace(open=opened))
    monkeypatch.setattr(FileService, "translate_file", translate)
    async with serve(FakeEngine(), max_file_characters=64_000) as client:
        large, small = b"The house.\n" * 5000, b"The house."
        answers = await asyncio.gather(*(send(client, "a.txt", large) for _ in range(3)))
        assert most == 1
        answers += await asyncio.gather(*(send(client, "a.txt", small) for _ in range(3)))
        assert most > 1
    assert {answer.status_code for answer in answers} == {httpx.codes.OK}
