"""Small random models of M2M-100 and NLLB, made with `transformers`, in Hugging Face form."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import sentencepiece
import torch
from sentencepiece import sentencepiece_model_pb2 as proto
from transformers import AutoTokenizer, M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

from model.interop.m2m100.languages import LISTS
from tests.marian_folder import SIZES, SOURCE_WORDS, TARGET_WORDS, write_json

MakeMultilingual = Callable[..., Path]
Kind = Literal["m2m100", "nllb", "wmt21"]
N_MADEUP_WORDS = 8
"""Ids after M2M-100's languages; NLLB has `<mask>` and two more."""


def learn_pieces() -> bytes:
    model = io.BytesIO()
    words = f"{SOURCE_WORDS} {TARGET_WORDS}"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([words, words.upper(), "Zäh größer, été 1995!"] * 20),
        model_writer=model,
        model_type="bpe",
        vocab_size=120,
        character_coverage=1.0,
        minloglevel=2,
    )
    return model.getvalue()


def random_model(vocab_size: int, seed: int = 0, **options: Any) -> Any:
    torch.manual_seed(seed)
    model: Any = M2M100ForConditionalGeneration(
        M2M100Config(vocab_size=vocab_size, **(SIZES | options))
    )
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            offset = 1.0 if "layer_norm.weight" in name else 0.0
            tensor.copy_(offset + 0.3 * torch.randn(tensor.shape))
        # Some hypotheses end and some are capped.
        model.model.shared.weight[2] = 0
        model.model.decoder.layer_norm.bias[:] = 0.1 * torch.randn(model.config.d_model)
        model.model.shared.weight[2] += 2.2 * model.model.decoder.layer_norm.bias / 0.1 / 8
    return model.eval()


def save_fast_tokenizer(folder: Path, vocabulary: list[str], charsmap: bytes) -> None:
    """Write tokenizer.json and tokenizer_config.json with the ids of the published models."""
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "NllbTokenizer"})
    plain: Any = AutoTokenizer.from_pretrained(folder)
    tokens = [*vocabulary, *LISTS["nllb"], "<mask>"]
    ids = {token: index for index, token in enumerate(tokens)}
    options: Any = {"vocab": ids, "merges": plain._merges, "_spm_precompiled_charsmap": charsmap}
    fast: Any = NllbTokenizer(**options)
    fast.save_pretrained(folder)


def multilingual_maker(tmp_path_factory: pytest.TempPathFactory) -> MakeMultilingual:
    """Writes models with random weights as `transformers` saves them."""
    pieces = learn_pieces()
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(pieces)
    model = proto.ModelProto.FromString(pieces)  # type: ignore[attr-defined]
    charsmap = model.normalizer_spec.precompiled_charsmap
    own = [processor.id_to_piece(index) for index in range(3, processor.vocab_size())]

    def make(
        *,
        kind: Kind = "m2m100",
        behind: bool = False,
        fast: bool = True,
        slow: bool = True,
        dtype: torch.dtype = torch.float32,
        pickled: bool = False,
        shard: str | None = None,
        generation: dict[str, Any] | None = None,
        tokenizer: dict[str, Any] | None = None,
        **options: Any,
    ) -> Path:
        folder = tmp_path_factory.mktemp(kind) / f"{kind}-tiny"
        folder.mkdir()
        (folder / "sentencepiece.bpe.model").write_bytes(pieces)
        vocabulary = ["<s>", "<pad>", "</s>", "<unk>", *own]
        settings: dict[str, Any] = {}
        if kind == "nllb":
            n_languages = len(LISTS["nllb"])
            settings |= {"tokenizer_class": "NllbTokenizer", "legacy_behaviour": behind}
            if fast:
                save_fast_tokenizer(folder, vocabulary, charsmap)
                settings = json.loads((folder / "tokenizer_config.json").read_text()) | settings
        else:
            n_languages = len(LISTS[kind])
            settings |= {"tokenizer_class": "M2M100Tokenizer", "language_codes": kind}
            write_json(folder / "vocab.json", {one: index for index, one in enumerate(vocabulary)})
        write_json(folder / "tokenizer_config.json", settings | (tokenizer or {}))
        if not slow:
            (folder / "sentencepiece.bpe.model").unlink()
        made_up = 3 if kind == "nllb" else N_MADEUP_WORDS
        model = random_model(len(vocabulary) + n_languages + made_up, **options)
        searched = {"max_length": 30, "num_beams": 5, "early_stopping": True}
        for name, value in (searched | {"bad_words_ids": [[1]]} | (generation or {})).items():
            setattr(model.generation_config, name, value)
        model = model.to(dtype)
        if pickled:
            model.config.save_pretrained(folder)
            model.generation_config.save_pretrained(folder)
            state = model.state_dict() | {
                "model.encoder.embed_positions.weights": torch.zeros(66, 32)
            }
            torch.save(state, folder / "pytorch_model.bin")
        else:
            model.save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
        return folder

    return make
