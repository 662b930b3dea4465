import gzip
import re
from pathlib import Path

from app.web.site import ASSETS, FOLDER, MEDIA_TYPES, PRELOADS, Site

MAX_BYTES = 90_000
"""Maximum compressed bytes that the page loads in one language."""

TABLES = {f"frame/{name}.js" for name in ("english", "french", "german", "spanish")}

FILES = [path for path in FOLDER.rglob("*") if path.is_file()]


def write(folder: Path, **contents: str) -> Path:
    for name, content in contents.items():
        (folder / name.replace("_", ".")).write_text(content)
    return folder


def test_documents_name_the_folder_of_their_assets(tmp_path: Path) -> None:
    site = Site.read(write(tmp_path, index_html=f"<script src={ASSETS}main.js>", main_js="1"))
    assert site.documents["index"].content == f"<script src=web/{site.digest}/main.js>".encode()
    assert list(site.assets) == ["main.js"]


def test_documents_preload_what_the_entry_imports_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "panes").mkdir()
    (tmp_path / "panes" / "pane.js").write_text('import { a } from "../a.js";\n')
    (tmp_path / "a.js").write_text(
        'import { pane } from "./panes/pane.js";\nconst late = () => import("./b.js");'
    )
    main = 'import { pane } from "./panes/pane.js";\n'
    site = Site.read(write(tmp_path, index_html=PRELOADS, main_js=main, b_js="2"))
    hrefs = re.findall(
        r'rel="modulepreload" href="web/\w+/([^"]+)"', site.documents["index"].content.decode()
    )
    assert hrefs == ["panes/pane.js", "a.js"]


def test_lines_of_comments_are_left_out(tmp_path: Path) -> None:
    script = '/** What\n * it does. */\na = 1; // kept\n  // not kept\nb = "http://c";\n'
    site = Site.read(write(tmp_path, main_js=script))
    assert site.assets["main.js"].content == b'a = 1; // kept\nb = "http://c";\n'


def test_the_digest_is_of_all_that_is_there(tmp_path: Path) -> None:
    before = Site.read(write(tmp_path, main_js="1", other_js="2"))
    assert Site.read(tmp_path) == before
    after = Site.read(write(tmp_path, other_js="3"))
    assert after.digest != before.digest
    assert after.assets["main.js"] == before.assets["main.js"]
    assert after.assets["other.js"].etag != before.assets["other.js"].etag


def test_content_moved_from_one_file_to_another_changes_the_digest(tmp_path: Path) -> None:
    before = Site.read(write(tmp_path, a_js="12", b_js=""))
    assert Site.read(write(tmp_path, a_js="1", b_js="2")).digest != before.digest


def test_the_compressed_form_is_the_same_content() -> None:
    for file in Site.read().assets.values():
        assert gzip.decompress(file.compressed) == file.content


def test_the_page_is_light() -> None:
    assert {path.suffix for path in FILES} <= set(MEDIA_TYPES)
    site = Site.read()
    sizes = {name: len(file.compressed) for name, file in site.assets.items()}
    largest = max(sizes[name] for name in TABLES)
    shared = sum(
        size
        for name, size in sizes.items()
        if name not in TABLES and not name.startswith("reference/")
    )
    assert len(site.documents["index"].compressed) + shared + largest <= MAX_BYTES


def test_assets_in_subfolders_are_named_by_their_path(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    write(tmp_path / "views", main_js="1")
    assert list(Site.read(tmp_path).assets) == ["views/main.js"]


def test_every_file_is_loaded_by_another() -> None:
    texts = {path.name: path.read_text("utf-8") for path in FILES}
    for name in texts:
        if not name.endswith(".html"):
            assert any(re.search(rf"[/}}]{re.escape(name)}", text) for text in texts.values()), name


def test_no_code_is_inline_or_from_another_host() -> None:
    for path in FILES:
        text = path.read_text("utf-8")
        if path.suffix == ".html":
            assert not re.search(r"<style|\son\w+=|style=|javascript:", text), path
            assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text)), path
        hosts = set(re.findall(r"https?://([^/\s\"')]+)", text))
        assert hosts <= {"www.w3.org", "html.spec.whatwg.org"}, (
            path
        )  # names of a format and a source
        assert "innerHTML" not in text, path
