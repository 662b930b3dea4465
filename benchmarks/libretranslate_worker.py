"""Runs LibreTranslate; started by `benchmarks.libretranslate_server` in a Python that has it.

    python libretranslate_worker.py SOURCE TARGET ALPHA BEYOND_SOURCE [LibreTranslate's own options]

For comparison with the other servers, three things are changed. The model of the direction is
loaded before the server listens. A text is one sentence, since the splitter would download a model.
The search has the length penalty and the token limit of the others; Argos Translate has 0.2 and 256
tokens, which random weights sometimes reach.
"""

import sys
from typing import Any


class WholeText:
    """Replaces Argos Translate's sentence splitter."""

    def __init__(self, _: object) -> None:
        """Ignore the package."""

    def split_sentences(self, text: str) -> list[str]:
        return [text]


def main() -> None:
    """Load the model, then serve until stopped."""
    import ctranslate2
    from argostranslate import translate  # type: ignore[import-not-found]

    _, source, target, alpha, beyond_source, *sys.argv[1:] = sys.argv

    class Translator(ctranslate2.Translator):  # type: ignore[misc]
        """Searches as the other servers do."""

        def translate_batch(self, sources: list[list[str]], **options: Any) -> Any:
            options["length_penalty"] = float(alpha)
            options["max_decoding_length"] = max(map(len, sources)) + int(beyond_source)
            return super().translate_batch(sources, **options)

    ctranslate2.Translator = Translator
    translate.MiniSBDSentencizer = WholeText
    translate.translate("a", source, target)

    from libretranslate.main import main as serve  # type: ignore[import-not-found]

    serve()


if __name__ == "__main__":
    main()
