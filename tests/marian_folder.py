"""Small random Marian models, made with `transformers`, in Hugging Face form."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from transformers import AutoModelForSeq2SeqLM, MarianConfig, MarianMTModel

SOURCE_WORDS = "the a weather house dog cat sees likes is nice today tomorrow green old and with"
TARGET_WORDS = "le la une temps maison chien chat voit aime est beau demain vert vieux et avec"
SYMBOLS = [">>fra<<", ">>por_BR<<", ">>fr<<"]

MakeFolder = Callable[..., Path]


def learn_pieces(words: str, size: int) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([words, words.upper()] * 20),
        model_writer=model,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def pieces_of(serialized: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(serialized)
    return [
        processor.id_to_piece(index)
        for index in range(processor.vocab_size())
        if not processor.is_control(index) and not processor.is_unknown(index)
    ]


SIZES: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 40,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "max_position_embeddings": 64,
}
"""A configuration whose sizes are all different."""


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def change_json(path: Path, **changes: object) -> None:
    write_json(path, json.loads(path.read_text("utf-8")) | changes)


Damage = Callable[[Path], object]
"""A change that damages a folder."""


def changing(file: str, **changes: object) -> Damage:
    """Change values of a JSON file."""
    return lambda folder: change_json(folder / file, **changes)


def load_theirs(folder: Path) -> Any:
    """Return the model of `transformers`, which is untyped here."""
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32)
    return model.eval()


def random_model(seed: int = 0, **options: Any) -> Any:
    values = SIZES | {
        "eos_token_id": 0,
        "forced_eos_token_id": 0,
        "scale_embedding": True,
        "activation_function": "swish",
    }
    torch.manual_seed(seed)
    model: Any = MarianMTModel(MarianConfig(**(values | options)))
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" in name:
                continue
            offset = 1.0 if "layer_norm.weight" in name else 0.0
            tensor.copy_(offset + 0.3 * torch.randn(tensor.shape))
        # Some hypotheses end and some are capped.
        model.final_logits_bias[0, 0] = 5.5
    return model.eval()


def folder_maker(tmp_path_factory: pytest.TempPathFactory) -> MakeFolder:
    """Writes Marian models with random weights as `transformers` saves them."""
    source, target = learn_pieces(SOURCE_WORDS, 60), learn_pieces(TARGET_WORDS, 55)

    def make(
        *,
        separate: bool = False,
        multi: bool = False,
        dtype: torch.dtype = torch.float32,
        pickled: bool = False,
        shard: str | None = None,
        bias: bool = True,
        legacy: bool = False,
        generation: dict[str, Any] | None = None,
        **options: Any,
    ) -> Path:
        folder = tmp_path_factory.mktemp("marian") / "opus-mt"
        folder.mkdir()
        (folder / "source.spm").write_bytes(source)
        (folder / "target.spm").write_bytes(target)
        prefix = ["</s>", "<unk>", *(SYMBOLS if multi else [])]
        sides = [pieces_of(source), pieces_of(target)]
        if separate:
            vocabularies = [[*prefix, "<pad>", *side] for side in sides]
            pad = len(prefix)
        else:
            vocabularies = [[*prefix, *dict.fromkeys(sides[0] + sides[1]), "<pad>"]]
            pad = len(vocabularies[0]) - 1
        for name, vocabulary in zip(
            ("vocab.json", "target_vocab.json"), vocabularies, strict=False
        ):
            write_json(folder / name, {piece: index for index, piece in enumerate(vocabulary)})
        model = random_model(
            vocab_size=len(vocabularies[0]),
            decoder_vocab_size=len(vocabularies[-1]),
            share_encoder_decoder_embeddings=not separate,
            pad_token_id=pad,
            decoder_start_token_id=pad,
            **options,
        )
        if not bias:
            model.final_logits_bias.zero_()
        settings = {"max_length": 40, "num_beams": 4, "bad_words_ids": [[pad]]}
        for name, value in (settings | (generation or {})).items():
            setattr(model.generation_config, name, value)
        model = model.to(dtype)
        if pickled:
            model.config.save_pretrained(folder)
            model.generation_config.save_pretrained(folder)
            state = model.state_dict()
            if dtype != torch.float32:  # rounded sinusoids: see docs/interop.md
                state = {name: t for name, t in state.items() if "positions" not in name}
            torch.save(state, folder / "pytorch_model.bin")
        else:
            model.save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
        if legacy:  # before generation_config.json existed
            change_json(folder / "config.json", **(settings | (generation or {})))
            (folder / "generation_config.json").unlink()
        write_json(
            folder / "tokenizer_config.json",
            {
                "tokenizer_class": "MarianTokenizer",
                "source_lang": "eng",
                "target_lang": "mul" if multi else "fra",
                "separate_vocabs": separate,
            },
        )
        return folder

    return make
