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


def main() -> None:
    """Answer until standard input ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Marian itself writes to standard output
    from pymarian import Translator  # type: ignore[import-not-found]

    translator: Any = None
    options = ""
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["options"] != options:
            translator = None  # frees the previous model
            options = asked["options"]
            translator = Translator(options)
        began = time.perf_counter()
        answers = [translator.translate(text) for text in asked["calls"]]
        seconds = time.perf_counter() - began
        out.write(json.dumps({"answers": answers, "seconds": seconds}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
