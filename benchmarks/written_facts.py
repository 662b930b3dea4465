"""Handwritten sentences with one fact each, and patterns of their translations.

`tests/app/text/facts/sentences.tsv` has a pair of sentences a line, English and French, under the
kind of their fact, and what a translation into the other's language has to contain: of alternatives
between `|`, all parts between `&`. `=` means an exact copy, `{1234.5}` a number as
the language writes it, `{t15:30}` a time of day, `*` the rest of a word; blanks may be missing.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FILE = Path(__file__).parent.parent / "tests" / "app" / "text" / "facts" / "sentences.tsv"
LANGUAGES = ("en", "fr")
_SPACE = "[ \u00a0\u2009\u202f]?"
_AFTERNOON = r"(?:de l['’]après-midi|du soir)"
_MORNING = r"(?:du matin|de la nuit)"


@dataclass(frozen=True)
class Written:
    """A sentence of a kind in a language, and what its translation must contain."""

    kind: str
    source: str
    target: str
    text: str
    expected: str

    def is_wrong_in(self, translation: str) -> bool:
        """Whether a translation lacks the fact in every form that is right."""
        return "\ufffd" in translation or not any(
            all(part.search(translation) for part in parts) for parts in self._alternatives
        )

    @cached_property
    def _alternatives(self) -> list[list[re.Pattern[str]]]:
        return [
            [_pattern(part.strip(), self.target) for part in alternative.split("&")]
            for alternative in (
                [self.expected] if self.expected[0] == "=" and " & =" not in self.expected
                else self.expected.split("|")
            )
        ]  # fmt: skip


def written_sentences() -> list[Written]:
    """Return the sentences of the file, in both languages."""
    found: list[Written] = []
    kind = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            kind = line[2:]
            continue
        english, french, in_french, *others = line.split("\t")
        in_english = others[0] if others else in_french
        found.append(Written(kind, "en", "fr", english, in_french))
        found.append(Written(kind, "fr", "en", french, in_english))
    return found


def _pattern(part: str, language: str) -> re.Pattern[str]:
    if part[0] == "=":
        return re.compile(rf"(?<![\w]){re.escape(part[1:])}(?!\w)")
    if time := re.fullmatch(r"\{t(\d+):(\d\d)\}", part):
        return _time(int(time[1]), int(time[2]), language)
    found = ""
    for piece in re.split(r"(\{[\d.]+\}|\*| )", part):
        if piece.startswith("{"):
            found += _number(piece[1:-1], language)
        elif piece == "*":
            found += r"[\w.]*"
        else:
            found += _SPACE if piece == " " else re.escape(piece).replace("'", "['’]")
    before = r"(?<!\w)(?<!\d[.,])" if part[0].isalnum() or part[0] == "{" else ""
    behind = r"(?!\w)" + (r"(?![.,]\d)" if part[-1].isdigit() or part[-1] == "}" else "")
    return re.compile(before + found + behind, re.IGNORECASE)


def _number(value: str, language: str) -> str:
    whole, _, fraction = value.partition(".")
    group, decimal = (",?", r"\.") if language == "en" else (_SPACE, ",")
    grouped = f"{int(whole):,}".replace(",", group)
    return grouped + (f"{decimal}{fraction}0*" if fraction else f"(?:{decimal}0+)?")


def _time(hour: int, minute: int, language: str) -> re.Pattern[str]:
    half = hour % 12 or 12
    if language == "fr":
        mark = rf"{_SPACE}(?:h|heures?|:){_SPACE}"
        minutes = f"{mark}{minute:02}" if minute else rf"(?:{mark}00|{_SPACE}(?:h\b|heures?))"
        part = _AFTERNOON if hour >= 12 else _MORNING
        late = rf"{half}{minutes}{_SPACE}{part}"
        words = {0: "minuit", 12: "midi"}.get(hour, "") if not minute else ""
        both = rf"(?<!\d)(?:0?{hour}{minutes}(?!\d)(?!{_SPACE}{_AFTERNOON})|{late})"
        return re.compile(f"{both}|{words}" if words else both, re.IGNORECASE)
    minutes = rf"[:.h]{minute:02}" if minute else "(?:[:.]00)?"
    letter = "p" if hour >= 12 else "a"
    part = (
        "in the morning|at night" if hour < 12 else "in the (?:afternoon|evening)|tonight|at night"
    )
    half_day = rf"{half}{minutes}(?:{_SPACE}o['’]clock)?{_SPACE}(?:{letter}\.?m\b|{part})"
    clock = rf"0?{hour}[:.h]{minute:02}(?!\d|{_SPACE}[ap]\.?m)"
    sharp = "" if minute else rf"|0?{hour}{_SPACE}(?:o['’]clock|h\b|hours)"
    bare = rf"|{hour}(?![\d:.,]|{_SPACE}[ap]\.?m)" if not minute and 0 < hour <= 12 else ""
    words = {0: "|midnight", 12: "|noon|midday"}.get(hour, "") if not minute else ""
    return re.compile(rf"(?<!\d)(?:{half_day}|{clock}{sharp}{bare}){words}", re.IGNORECASE)
