"""Translates with Marian itself; started by `benchmarks.marian_process` in a Python that has it.

Reads a JSON object a line: `options` (Marian's) and `calls` (texts of one or more lines). Writes
one for each: `answers` (what Marian prints for each text) and `seconds`, without loading.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

KEPT = 3
"""Models that stay loaded: as many as take turns."""


def main() -> None:
    """Answer until standard input ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Marian itself writes to standard output
    from pymarian import Translator  # type: ignore[import-not-found]

    loaded: dict[str, Any] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        options = asked["options"]
        if options not in loaded:
            while len(loaded) >= KEPT:
                del loaded[next(iter(loaded))]
            loaded[options] = Translator(options)
        translator = loaded[options]
        began = time.perf_counter()
        answers = [translator.translate(text) for text in asked["calls"]]
        seconds = time.perf_counter() - began
        out.write(json.dumps({"answers": answers, "seconds": seconds}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
