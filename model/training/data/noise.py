"""Noise as in user input: unusual casing, no full stop, several sentences, text to copy.

Every function depends only on its arguments and random generator, so that a resumed run sees the
same data.
"""

import re
from random import Random
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


class NoiseConfig(BaseModel):
    """Probability of each kind of noise per training pair; 0 disables it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    lowercase_source: float = Field(0.0, ge=0, le=1, description="source in lower case")
    uppercase: float = Field(0.0, ge=0, le=1, description="both sides in upper case")
    drop_final_punctuation: float = Field(0.0, ge=0, le=1, description="on both sides")
    typographic_source: float = Field(
        0.0, ge=0, le=1, description="curly apostrophes and quotes, no-break spaces in the source"
    )
    substitute: float = Field(
        0.0, ge=0, le=1, description="a name or number on both sides becomes a placeholder, URL, …"
    )
    attach: float = Field(
        0.0, ge=0, le=1, description="add a placeholder, URL, emoji, … before or after both sides"
    )
    copy_only: float = Field(
        0.0, ge=0, le=1, description="replace the pair by text to be copied unchanged"
    )
    join: float = Field(0.0, ge=0, le=1, description="join 2 to 4 pairs of a corpus in one line")

    def apply(self, pair: Pair, random: Random) -> Pair:
        """Add each kind of noise at random; joining is left to the caller."""
        if random.random() < self.copy_only:
            return _copied(random)
        if random.random() < self.substitute:
            pair = substitute_shared_word(pair, random)
        if random.random() < self.drop_final_punctuation:
            pair = Pair(_drop_final_punctuation(pair.source), _drop_final_punctuation(pair.target))
        if random.random() < self.lowercase_source:
            pair = pair._replace(source=pair.source.lower())
        elif random.random() < self.uppercase:
            pair = Pair(pair.source.upper(), pair.target.upper())
        if random.random() < self.typographic_source:
            pair = pair._replace(source=typographic(pair.source))
        if random.random() < self.attach:
            pair = _attached(pair, random)
        return pair


_WORD = re.compile(r"\b(?:[A-Z][a-zé]{2,}|\d{1,6})\b")
_EMOJI = "😀😂😊😍🙏👍🎉🔥❤✨🚀🌍✅⚠💡🇫🐍🍕☕🎵"
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvz", "aeiou"
_TEMPLATES = (
    "{%s}", "{{%s}}", "${%s}", "%%(%s)s", "<%s>", "</%s>", "<%s/>", "[%s]", "@%s", "#%s", ":%s:",
    "__%s__",
)  # fmt: skip
_IDENTIFIERS = (
    "name", "user", "count", "x", "x1", "0", "1", "b", "i", "g1", "user_name", "item.price", "date",
    "total", "id", "email", "n", "title", "city", "file", "value", "link", "br", "index",
    "first_name", "amount",
)  # fmt: skip
_DOMAINS = ("com", "org", "fr", "net", "io", "co.uk", "eu", "be", "ca")


def substitute_shared_word(pair: Pair, random: Random) -> Pair:
    """Replace a name or number that occurs once on each side by the same text to copy.

    A word that is also part of a longer one is kept.
    """
    shared = [
        word
        for word in dict.fromkeys(_WORD.findall(pair.source))
        if pair.source.count(word) == 1 == pair.target.count(word)
    ]
    if not shared:
        return pair
    word = random.choice(shared)
    replacement = random_number(random) if word.isdigit() else thing_to_copy(random)
    return Pair(pair.source.replace(word, replacement), pair.target.replace(word, replacement))


def thing_to_copy(random: Random) -> str:
    """Return a name, number, placeholder, URL, e-mail address, emoji, …, equal in all languages."""
    kind = random.random()
    if kind < 0.35:
        return random_name(random)
    if kind < 0.5:
        return random_number(random)
    if kind < 0.75:
        return random_placeholder(random)
    if kind < 0.83:
        return random_url(random)
    if kind < 0.9:
        return f"{random_name(random).lower()}@{_domain(random)}"
    return random.choice(_EMOJI)


def random_name(random: Random) -> str:
    """Return an invented proper name of two to four syllables."""
    syllables = (
        random.choice(_CONSONANTS) + random.choice(_VOWELS) for _ in range(random.randint(2, 4))
    )
    ending: str = random.choice(("", "", *_CONSONANTS))
    return ("".join(syllables) + ending).capitalize()


def random_number(random: Random) -> str:
    """Return an integer, a time, a date or a version in a format common to both languages."""
    kind = random.random()
    if kind < 0.6:
        return str(random.randrange(10 ** random.randint(1, 6)))
    if kind < 0.75:
        return f"{random.randrange(24)}:{random.randrange(60):02}"
    if kind < 0.9:
        return f"{random.randint(1, 28):02}/{random.randint(1, 12):02}/{random.randint(1950, 2050)}"
    return f"{random.randrange(20)}.{random.randrange(20)}.{random.randrange(20)}"


def random_placeholder(random: Random) -> str:
    """Return a variable or tag of a common template language."""
    if random.random() < 0.2:
        return random.choice(
            ("%s", "%d", "%1$s", "%2$s", "%1$d", "%@", "$1", "{}", "{0:.2f}", "%%")
        )
    placeholder: str = random.choice(_TEMPLATES) % random.choice(_IDENTIFIERS)
    return placeholder


def random_url(random: Random) -> str:
    """Return a web address, with or without a path."""
    start = random.choice(("https://", "https://www.", "http://", "www."))
    steps = [random_name(random).lower() for _ in range(random.randrange(3))]
    return "/".join((start + _domain(random), *steps))


def typographic(text: str) -> str:
    """Insert curly quotes, and no-break spaces as in French, as word processors do."""
    text = text.replace("'", "’").replace("...", "…")
    text = re.sub(r'"([^"]*)"', r"“\1”", text)
    return re.sub(r" ([?!:;»])", "\N{NO-BREAK SPACE}\\1", text)


def join_pairs(pairs: list[Pair]) -> Pair:
    """Join several pairs into one line."""
    return Pair(" ".join(pair.source for pair in pairs), " ".join(pair.target for pair in pairs))


def _domain(random: Random) -> str:
    return f"{random_name(random).lower()}.{random.choice(_DOMAINS)}"


def _copied(random: Random) -> Pair:
    text = " ".join(thing_to_copy(random) for _ in range(random.randint(1, 3)))
    return Pair(text, text)


def _attached(pair: Pair, random: Random) -> Pair:
    thing = thing_to_copy(random)
    if random.random() < 0.5:
        return Pair(f"{thing} {pair.source}", f"{thing} {pair.target}")
    return Pair(f"{pair.source} {thing}", f"{pair.target} {thing}")


def _drop_final_punctuation(text: str) -> str:
    return text.rstrip(" .!?…")
