import re

import pytest

from app.documents.xml.xliff import open_xliff
from app.errors import UnreadableFileError
from app.text.document import Answer
from tests.app.documents.answering import uppercased
from tests.linear import assert_linear

XLIFF_1 = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a"><body>
<trans-unit id="1">
  <source>The <g id="1">old</g> cat<x id="2"/> of <ph id="3">not this</ph></source>
  <note>not this</note>
</trans-unit>
<trans-unit id="2"><source>Done</source><target>Fini</target></trans-unit>
<trans-unit id="3" translate="no"><source>not this</source></trans-unit>
<trans-unit id="4"><source>Again</source><target state="new">Encore</target></trans-unit>
<trans-unit id="5"><source>By <mrk mtype="protected">ACME</mrk></source><target/></trans-unit>
<trans-unit id="6"><source>12</source></trans-unit>
</body></file></xliff>
"""
XLIFF_2 = """<?xml version="1.0"?>
<xliff version="2.1" srcLang="en" trgLang="fr"><file id="f"><unit id="1">
<segment state="initial"><source>The <pc id="1">old</pc> cat<ph id="2"/></source></segment>
<segment state="final"><source>Done</source><target>Fini</target></segment>
<segment><source>Same</source><target>Same</target></segment>
</unit><unit id="2" translate="no"><segment><source>not this</source></segment></unit>
</file></xliff>
"""


def test_targets_are_filled_in_and_translations_kept() -> None:
    opened = open_xliff(XLIFF_1)
    assert opened.texts == ["The old cat of", "Again", "By \ue0000\ue001"]
    expected = (
        XLIFF_1.replace(
            "  <note>",
            '  <target>THE <g id="1">OLD</g> CAT<x id="2"/> OF <ph id="3">not this</ph></target>\n'
            "  <note>",
        )
        .replace('<target state="new">Encore', '<target state="translated">AGAIN')
        .replace("<target/>", '<target>BY <mrk mtype="protected">ACME</mrk></target>')
    )
    assert uppercased(opened) == expected


SEGMENTS = (
    '<mrk mtype="seg" mid="1">The <g id="1">old</g> cat.</mrk> <x id="2"/>'
    '<mrk mid="2" mtype="seg">By <mrk mtype="protected">ACME</mrk>.</mrk>'
)


@pytest.mark.parametrize("target", ["", "<target/>", f"<target>{SEGMENTS}</target>"])
def test_marked_segments_stay_marked(target: str) -> None:
    """Programs for translators show a unit by its segments."""
    unit = f"<source>The old cat. By ACME.</source><seg-source>{SEGMENTS}</seg-source>"
    xliff = f'<xliff version="1.2"><trans-unit id="1">{unit}{target}</trans-unit></xliff>'
    opened = open_xliff(xliff)
    assert opened.texts == ["The old cat.", "By \ue0000\ue001."]
    expected = SEGMENTS.replace("The", "THE").replace("old", "OLD").replace("cat", "CAT")
    expected = expected.replace("By", "BY")
    assert f"{unit}<target>{expected}</target></trans-unit>" in uppercased(opened)


def test_a_source_with_marks_that_are_no_segments_is_one_text() -> None:
    mark = '<mrk mtype="x-term">cat</mrk>'
    unit = f"<source>The {mark}</source><seg-source>The {mark}</seg-source>"
    xliff = f'<xliff version="1.2"><trans-unit id="1">{unit}</trans-unit></xliff>'
    expected = f"{unit}<target>THE {mark.replace('cat', 'CAT')}</target>"
    assert expected in uppercased(open_xliff(xliff))


def test_version_2() -> None:
    opened = open_xliff(XLIFF_2)
    assert opened.texts == ["The old cat", "Same"]
    expected = XLIFF_2.replace(
        "</source></segment>",
        '</source><target>THE <pc id="1">OLD</pc> CAT<ph id="2"/></target></segment>',
        1,
    ).replace('state="initial"', 'state="translated"')
    assert uppercased(opened) == expected.replace("<target>Same", "<target>SAME")


PLAIN = """<xliff version="1.2"><file><trans-unit id="1"><source>%s</source>%s</trans-unit>
</file></xliff>"""


@pytest.mark.parametrize(
    ("source", "texts", "target"),
    [
        ("<![CDATA[The cat]]>", ["The cat"], "THE CAT"),
        ("<![CDATA[A & B]]> is <g id='1'>old</g>", None, "A &amp; B IS <g id='1'>OLD</g>"),
        ("<![CDATA[One\ntwo]]><![CDATA[]]><![CDATA[ <three]]>", None, "ONE\nTWO &lt;THREE"),
        ("<![CDATA[]]>", [], None),
    ],
)
def test_cdata_is_text(source: str, texts: list[str] | None, target: str | None) -> None:
    opened = open_xliff(PLAIN % (source, ""))
    assert texts is None or opened.texts == texts
    expected = "" if target is None else f"<target>{target}</target>"
    assert uppercased(opened) == PLAIN % (source, expected)


def test_a_translation_in_cdata_is_kept() -> None:
    assert open_xliff(PLAIN % ("Done", "<target><![CDATA[Fini]]></target>")).texts == []
    cdata = "<![CDATA[Same]]>"
    assert open_xliff(PLAIN % (cdata, f"<target>{cdata}</target>")).texts == ["Same"]


@pytest.mark.parametrize("xliff", [XLIFF_1, XLIFF_2.replace(' trgLang="fr"', "")])
@pytest.mark.parametrize("prefix", ["xlf", "é.-"])
def test_elements_may_have_a_prefix(xliff: str, prefix: str) -> None:
    def prefixed(text: str) -> str:
        text = text.replace(" xmlns=", f" xmlns:{prefix}=")
        return re.sub(r"(</?)(?=\w)", rf"\g<1>{prefix}:", text)

    usual, other = open_xliff(xliff), open_xliff(prefixed(xliff))
    assert other.texts == usual.texts
    answers = [Answer(text.upper(), languages=("en", "de")) for text in usual.texts]
    assert other.with_translations(answers) == prefixed(usual.with_translations(answers))


def test_marked_segments_may_have_a_prefix() -> None:
    mark = '<x:mrk mtype="seg" mid="1">%s</x:mrk>'
    unit = f"<x:source>Cat</x:source><x:seg-source>{mark % '<![CDATA[Cat]]>'}</x:seg-source>"
    xliff = f'<x:xliff version="1.2"><x:trans-unit>{unit}</x:trans-unit></x:xliff>'
    assert f"{unit}<x:target>{mark % 'CAT'}</x:target>" in uppercased(open_xliff(xliff))


def test_the_language_of_targets_is_named_unless_it_is() -> None:
    for xliff, named in (
        (XLIFF_1, '<file original="a" target-language="de">'),
        (XLIFF_2.replace(' trgLang="fr"', ""), '<xliff version="2.1" srcLang="en" trgLang="de">'),
        (XLIFF_2, ' trgLang="fr">'),
        (XLIFF_1.replace('"a"', '"a/>b"'), '<file original="a/>b" target-language="de">'),
    ):
        opened = open_xliff(xliff)
        answers = [Answer(text, languages=("en", "de")) for text in opened.texts]
        assert named in opened.with_translations(answers)


@pytest.mark.parametrize(
    "text",
    ["", "<a/>", '<xliff version="3.0"/>', "<xliff/>", XLIFF_1[:-10], "<xliff version='1.2'>"],
)
def test_errors_are_reported(text: str) -> None:
    with pytest.raises(UnreadableFileError, match=r"not XLIFF|not well-formed XML"):
        open_xliff(text)


def test_time_is_linear_without_an_end() -> None:
    def opened(n: int) -> None:
        with pytest.raises(UnreadableFileError, match="not XLIFF"):
            open_xliff("<xliff " * n)

    assert_linear(opened, 50_000)
