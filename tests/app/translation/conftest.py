from pathlib import Path

import pytest

from model.text.text_codec import TextCodec
from model.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def codec(tiny_checkpoint: Path) -> TextCodec:
    return Tokenizer.load(tiny_checkpoint / "sentencepiece.model")
