"""Minimal Word documents."""

import io
import zipfile

from app.documents.xml.archive import ArchiveFile
from app.documents.xml.open_xml import office_parts

NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
CONTENTS = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="png" ContentType="image/png"/>'
    f'<Override PartName="/word/document.xml" ContentType="{TYPE}.document.main+xml"/>'
    f'<Override ContentType="{TYPE}.styles+xml" PartName="/word/styles.xml"/>'
    "</Types>"
)


def document(*paragraphs: str) -> str:
    body = "".join(f"<w:p>{paragraph}</w:p>" for paragraph in paragraphs)
    return f'<?xml version="1.0"?>\n<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>'


def archive(parts: dict[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            how = zipfile.ZIP_STORED if name.endswith(".png") else zipfile.ZIP_DEFLATED
            file.writestr(name, content, how)
    return target.getvalue()


def word_file(*paragraphs: str) -> bytes:
    return archive(
        {
            "[Content_Types].xml": CONTENTS,
            "word/document.xml": document(*paragraphs),
            "word/styles.xml": "<w:styles/>",
            "word/media/image.png": b"\x89PNG" + bytes(100),
        }
    )


def open_word(data: bytes) -> ArchiveFile:
    return ArchiveFile(data, office_parts)


def part(data: bytes, name: str = "word/document.xml") -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return file.read(name).decode()


def body(data: bytes) -> str:
    """Return the XML of the document without its first and last paragraph tags."""
    _, _, rest = part(data).partition("<w:body><w:p>")
    return rest.partition("</w:p></w:body>")[0]


def run(text: str, properties: str = "") -> str:
    look = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{look}<w:t xml:space="preserve">{text}</w:t></w:r>'
