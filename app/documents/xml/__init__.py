"""Formats of XML: Office Open XML, OpenDocument, EPUB and XLIFF, most of them in ZIP archives.

`archive` opens and limits an archive; `open_xml`, `open_document` and `epub` find its parts with
text. Their paragraphs have runs of formatted text (`run_paragraph`) or nested elements
(`fragment`).
"""
