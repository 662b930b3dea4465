"""Minimal archives of every format; each contains the text "The old cat"."""

from tests.app.documents.word_xml import CONTENTS, TYPE, archive, document, run

BOLD = "<w:b/>"
A_TYPES = "application/vnd.openxmlformats-officedocument"
SLIDE = (
    '<?xml version="1.0"?><p:sld xmlns:p="p" xmlns:a="a"><p:txBody><a:p><a:pPr lvl="1"/>'
    '<a:r><a:rPr lang="en-US" sz="1200"/><a:t>The </a:t></a:r>'
    '<a:r><a:rPr lang="en-US" sz="1200" b="1"/><a:t>old</a:t></a:r>'
    '<a:r><a:rPr lang="en-US" sz="1200"/><a:t> cat</a:t></a:r>'
    "<a:br><a:rPr/></a:br><a:r><a:t>a &amp; b</a:t></a:r>"
    '<a:fld type="slidenum"><a:t>3</a:t></a:fld><a:endParaRPr lang="en-US"/></a:p>'
    "</p:txBody></p:sld>"
)
STRINGS = (
    '<?xml version="1.0"?><sst xmlns="s"><si><t>The old cat</t></si><si><t>Price</t></si>'
    '<si><r><t xml:space="preserve">The </t></r><r><rPr><b/></rPr><t>dog</t></r></si>'
    '<si><t>two\nlines</t><phoneticPr fontId="1"/></si><si><t>12</t></si></sst>'
)
SHEET = (
    '<?xml version="1.0"?><worksheet xmlns="s"><sheetData><row r="1">'
    '<c r="A1" t="s"><v>0</v></c><c r="B1"><f>"a text"&amp;A1</f><v>1</v></c>'
    '<c r="C1" t="inlineStr"><is><t>an inline text</t></is></c></row></sheetData></worksheet>'
)
OPEN_DOCUMENT = (
    '<?xml version="1.0"?><office:document-content xmlns:office="o" xmlns:text="t" xmlns:draw="d">'
    "<office:automatic-styles><style:x>not this</style:x></office:automatic-styles>"
    "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
    "<text:h>A title</text:h><text:p>The <text:span>old</text:span> cat<text:note>"
    "<text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p>"
    "</text:note-body></text:note></text:p><text:p>on page <text:page-number>3</text:page-number>"
    "<text:line-break/>here<draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box>"
    "</draw:frame></text:p></office:document-content>"
)
PAGE = (
    '<?xml version="1.0"?><!DOCTYPE html PUBLIC "x" "y"><html xmlns="h"><head><title/>'
    '<script src="a.js"/></head><body><p>The <b>old</b> cat<a id="p1"/><br/>caf&eacute; noir</p>'
    "<script>not this</script></body></html>"
)
CONTAINER = '<container><rootfiles><rootfile full-path="OPS/a.opf"/></rootfiles></container>'
PACKAGE = (
    "<package><metadata><dc:title>not this</dc:title></metadata><manifest>"
    '<item id="p" href="the%20page.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    '<item id="x" href="missing.xhtml" media-type="application/xhtml+xml"/></manifest></package>'
)
NCX = (
    "<ncx><docAuthor><text>Ann</text></docAuthor>"
    "<navLabel><text>First chapter</text></navLabel></ncx>"
)


def contents(**types: str) -> str:
    overrides = "".join(
        f'<Override PartName="/{name}.xml" ContentType="{A_TYPES}.{kind}+xml"/>'
        for name, kind in types.items()
    )
    return f'<?xml version="1.0"?><Types xmlns="c">{overrides}</Types>'


PARTS: dict[str, dict[str, str | bytes]] = {
    ".docx": {
        "[Content_Types].xml": CONTENTS,
        "word/document.xml": document(
            run("The ") + run("old", BOLD) + run(" cat"),
            f"<w:hyperlink>{run('a link')}</w:hyperlink><w:r><w:tab/></w:r>{run('behind')}",
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:sdt><w:sdtContent/></w:sdt>',
        ),
    },
    ".pptx": {
        "[Content_Types].xml": contents(
            main="presentationml.presentation.main", slide="presentationml.slide"
        ),
        "main.xml": "<p/>",
        "slide.xml": SLIDE,
    },
    ".xlsx": {
        "[Content_Types].xml": contents(
            book="spreadsheetml.sheet.main", strings="spreadsheetml.sharedStrings",
            sheet="spreadsheetml.worksheet", table="spreadsheetml.table",
        ),
        "book.xml": "<workbook/>", "strings.xml": STRINGS, "sheet.xml": SHEET,
        "table.xml": '<table><tableColumn name="Price"/></table>',
    },
    ".odt": {"mimetype": "application/x", "content.xml": OPEN_DOCUMENT, "styles.xml": "<a/>"},
    ".odp": {"content.xml": OPEN_DOCUMENT},
    ".ods": {"content.xml": OPEN_DOCUMENT},
    ".epub": {
        "mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER,
        "OPS/a.opf": PACKAGE, "OPS/the page.xhtml": PAGE, "OPS/toc.ncx": NCX,
    },
}  # fmt: skip
TEXT_PART = {
    ".docx": "word/document.xml", ".pptx": "slide.xml", ".xlsx": "strings.xml",
    ".odt": "content.xml", ".odp": "content.xml", ".ods": "content.xml",
    ".epub": "OPS/the page.xhtml",
}  # fmt: skip
"""The part with the text, by format."""

assert TYPE.startswith(A_TYPES)


def sample_archive(suffix: str, **changed: str | bytes) -> bytes:
    """Make an archive; `text` replaces the part with the text, other arguments their parts."""
    parts = dict(PARTS[suffix])
    for name, content in changed.items():
        parts[TEXT_PART[suffix] if name == "text" else name] = content
    return archive(parts)
