import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.documents.catalogue import open_catalogue
from app.errors import UnreadableFileError
from tests.app.documents.answering import sample, translated, unchanged, uppercased
from tests.cases import cases

CATALOGUE = sample("catalogue.po")


def read(text: str) -> dict[tuple[str | None, str], tuple[str, dict[int, str]]]:
    return {(one.msgctxt, one.msgid): (one.msgstr, one.msgstr_plural) for one in polib.pofile(text)}


def test_missing_translations_are_filled_in() -> None:
    written = uppercased(open_catalogue(CATALOGUE))
    before, after = read(CATALOGUE), read(written)
    assert after.pop((None, '%(n)d "new" message')) == (
        "",
        {0: '%(N)D "NEW" MESSAGE', 1: "%(N)D NEW MESSAGES"},
    )
    assert after.pop(("menu", "Open")) == ("OPEN", {})
    long = next(key for key in after if key[1].startswith("This"))
    assert after.pop(long) == (long[1].upper(), {})
    for key, value in after.items():  # translated, without letters, obsolete
        assert before[key] == value
    assert not any(len(line) > 80 for line in written.splitlines() if not line.startswith('"This'))


def test_all_other_lines_stay_as_they_were() -> None:
    kept = [line for line in CATALOGUE.splitlines() if not line.startswith("msgstr")]
    written = uppercased(open_catalogue(CATALOGUE)).splitlines()
    assert [line for line in written if line in kept] == kept


def test_a_complete_catalogue_is_unchanged() -> None:
    full = uppercased(open_catalogue(CATALOGUE))
    assert open_catalogue(full).texts == []
    assert unchanged(open_catalogue(full)) == full


def test_the_header_defines_the_singular_form() -> None:
    slovenian = CATALOGUE.replace("plural=(n > 1)", "plural=(n%100==1 ? 1 : 0)")
    after = read(uppercased(open_catalogue(slovenian)))
    assert after[None, '%(n)d "new" message'][1] == {
        0: "%(N)D NEW MESSAGES",
        1: '%(N)D "NEW" MESSAGE',
    }
    for rule in ("plural=n ** 2", "plural=1/(n-1)", "plural=" + "(" * 400 + "n"):
        odd = CATALOGUE.replace("plural=(n > 1)", rule)
        assert uppercased(open_catalogue(odd)) == uppercased(open_catalogue(CATALOGUE)).replace(
            "plural=(n > 1)", rule
        )


@given(st.lists(st.text('ab\\"\n\t\r é{}%~', min_size=1, max_size=40), max_size=6, unique=True))
def test_every_string_is_read_and_written_as_gettext_does(messages: list[str]) -> None:
    file = polib.POFile(wrapwidth=30)
    for message in messages:
        file.append(polib.POEntry(msgid=message, msgstr=""))
    written = uppercased(open_catalogue(str(file)))
    for entry in polib.pofile(written):
        if any(map(str.isalpha, entry.msgid)):
            assert entry.msgstr == entry.msgid.upper()


def test_a_translation_ends_no_string() -> None:
    written = translated(open_catalogue('msgid "a"\nmsgstr ""'), lambda _: '"\nmsgid "x\\')
    assert written == 'msgid "a"\nmsgstr "\\" msgid \\"x\\\\"'


@pytest.mark.parametrize(("text", "reason"), cases(__file__, "errors_in_catalogues_name_the_line"))
def test_errors_in_catalogues_name_the_line(text: str, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        open_catalogue(text)
