"""Translates with Marian itself; run by `benchmarks.marian` in a Python that has `pymarian`.

Reads a JSON object from standard input: `model`, `vocabularies` (paths), `sentences` (pieces with
blanks between) and `beams`. Writes, for each beam, each sentence's n-best list: [pieces, score].
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Answer one object."""
    answers = os.dup(1)
    os.dup2(2, 1)  # Marian itself writes to standard output
    from pymarian import Translator  # type: ignore[import-not-found]

    asked = json.load(sys.stdin)
    found = {}
    for beam in asked["beams"]:
        # One sentence a batch: the token limit is that of the longest in a batch.
        translator = Translator(
            f"--models {asked['model']} --vocabs {' '.join(asked['vocabularies'])} "
            f"--beam-size {beam} --normalize {asked['normalize']} --n-best --cpu-threads 1 "
            "--mini-batch 1 --maxi-batch 1"
        )
        lists: list[list[tuple[str, float]]] = [[] for _ in asked["sentences"]]
        for sentence, entries in zip(asked["sentences"], lists, strict=True):
            for line in translator.translate(sentence).splitlines():
                _, pieces, _, score = line.split(" ||| ")
                entries.append((pieces, float(score)))
        found[beam] = lists
    with os.fdopen(answers, "w") as out:
        json.dump(found, out)


if __name__ == "__main__":
    main()
