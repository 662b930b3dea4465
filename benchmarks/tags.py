"""Accuracy of inline tags in translations, by manual word alignments.

python -m benchmarks.tags hansards.links hansards.en hansards.fr

In each pair, every word of letters that has gold links is enclosed in tags in turn. The model
aligns the given translation, as the server aligns its own, and the tags are inserted into it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from app.scheduling.scheduler import Scheduler
from app.text.document import Answer
from app.text.spans import Span
from app.text.tagged_text import Piece, TaggedText
from app.text.word_links import WordLink
from app.translation.word_aligner import WordAligner
from benchmarks.options import benchmark, checkpoint_option, json_option, precision_option
from benchmarks.report import Cell, Report, publish
from model.alignment.from_attention import Bitext
from model.alignment.gold import GoldAlignment
from model.checkpoint.reader import load_checkpoint
from model.engine.build import build_engines
from model.text.words import whitespace_words, words

COLUMNS = {"Direction": "", "Words": ",d", "Right": ".3f", "Exact": ".3f", "Empty": ".3f"}
NOTES = (
    "`Right`: the tags enclose a word with a sure gold link to the tagged word (a possible one, if "
    "none is sure). `Exact`: they enclose all of these, and no word without a possible link. "
    "`Empty`: they enclose nothing.",
)
OPENING, CLOSING = "\ue010", "\ue011"


@dataclass(frozen=True)
class Landing:
    """The position of one pair of tags in the translation."""

    right: bool
    exact: bool
    empty: bool


def landing(text: str, word: Span, answer: Answer, gold: GoldAlignment) -> Landing:
    """Judge the tags around a word of the text; `gold` links whitespace-separated words."""
    tagged = TaggedText(
        [
            Piece("text", text[: word.start]),
            Piece("open", OPENING),
            Piece("text", word.of(text)),
            Piece("close", CLOSING),
            Piece("text", text[word.end :]),
        ]
    )
    written = tagged.with_translation(answer, str)
    start = written.index(OPENING)
    end = written.index(CLOSING) - 1
    inside = {
        at
        for at, (first, last) in enumerate(whitespace_words(answer.text))
        if first < end and start < last
    }
    at = whitespace_words(text).index(word)
    sure, possible = ({j for i, j in links if i == at} for links in (gold.sure, gold.possible))
    wanted = sure or possible
    return Landing(
        right=bool(inside & wanted),
        exact=bool(inside) and wanted <= inside <= possible,
        empty=not inside,
    )


def linked_words(text: str, gold: GoldAlignment) -> list[Span]:
    """Return the words of letters that have gold links."""
    linked = {i for i, _ in gold.possible}
    return [
        span
        for at, word in enumerate(whitespace_words(text))
        if at in linked and (span := Span(*word)).of(text).isalpha()
    ]


async def landings(
    aligner: WordAligner,
    direction: tuple[str, str],
    pairs: Sequence[tuple[str, str]],
    gold: Sequence[GoldAlignment],
) -> list[Landing]:
    """Return the landings of all such words of all pairs."""
    found: list[Landing] = []
    for (text, translation), wanted in zip(pairs, gold, strict=True):
        read, written = words(text), words(translation)
        links, guesses = await aligner.links_and_guesses(
            Bitext(text, translation, *direction, read, written)
        )
        answer = Answer(
            translation,
            [
                WordLink(Span(*read[i]), Span(*written[j]), is_guess)
                for some, is_guess in ((links, False), (guesses, True))
                for i, j in some
            ],
        )
        found += [landing(text, word, answer, wanted) for word in linked_words(text, wanted)]
    return found


def row(direction: tuple[str, str], found: Sequence[Landing]) -> dict[str, Cell]:
    """Return the row of the report."""
    return {
        "Direction": " → ".join(direction),
        "Words": len(found),
        "Right": sum(one.right for one in found) / len(found),
        "Exact": sum(one.exact for one in found) / len(found),
        "Empty": sum(one.empty for one in found) / len(found),
    }


async def measure(
    checkpoint: Path, precision: str, links: Path, texts: Sequence[Path]
) -> list[dict[str, Cell]]:
    """Measure a row for each direction."""
    loaded = load_checkpoint(checkpoint)
    scheduler = Scheduler(build_engines(loaded, precision))  # type: ignore[arg-type]
    aligner = WordAligner(loaded.config, loaded.tokenizer, scheduler.explanations)
    gold = [GoldAlignment.parse(line) for line in links.read_text("utf-8").splitlines()]
    sides = [file.read_text("utf-8").splitlines() for file in texts]
    scheduler.start()
    try:
        rows = []
        for direction in loaded.config.directions:
            forward = direction == loaded.config.directions[0]
            pairs = list(zip(*(sides if forward else sides[::-1]), strict=True))
            wanted = gold if forward else [one.transposed() for one in gold]
            rows.append(row(direction, await landings(aligner, direction, pairs, wanted)))
    finally:
        await scheduler.stop()
    return rows


@benchmark
@click.argument("links", type=click.Path(path_type=Path, exists=True))
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.argument("target", type=click.Path(path_type=Path, exists=True))
@checkpoint_option
@precision_option
@json_option
def main(
    *,
    links: Path,
    source: Path,
    target: Path,
    checkpoint: Path,
    precision: str,
    json_file: Path | None,
) -> None:
    """Print where tags around a word land; LINKS has one line of gold links per pair."""
    rows = asyncio.run(measure(checkpoint, precision, links, (source, target)))
    settings: dict[str, Cell] = {"gold": links.name, "precision": precision}
    title = f"Inline tags: {checkpoint.name}"
    publish(Report("tags", title, settings, COLUMNS, rows, NOTES), json_file)


if __name__ == "__main__":
    main()
