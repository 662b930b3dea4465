"""M2M-100 and NLLB: logits, search and tokens equal those of `transformers`."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from model.checkpoint.config import AnyPair
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import Hypothesis
from model.engine.build import build_engines
from model.engine.protocol import Job
from model.engine.run import run_jobs
from model.errors import CheckpointError, LanguageError, ModelError
from model.interop.languages import Languages
from model.interop.marian_import import import_m2m100, import_marian
from tests.m2m100_folder import MakeMultilingual
from tests.marian_folder import Damage, changing, load_theirs, write_json
from tests.model.engine.jobs import hypotheses
from tests.model.interop import comparing

Pair = tuple[Any, Checkpoint, Path]
FAMILY: dict[str, dict[str, Any]] = {
    "m2m100": {},
    "nllb": {"kind": "nllb"},
    "nllb, tokenizer.json alone": {"kind": "nllb", "slow": False},
    "nllb, legacy": {"kind": "nllb", "behind": True, "encoder_layers": 3, "seed": 1},
    "wmt21": {"kind": "wmt21", "decoder_layers": 3, "generation": {"early_stopping": False}},
    "pickled": {"pickled": True, "generation": {"num_beams": 4, "length_penalty": 0.6}},
    "in shards": {"kind": "nllb", "shard": "20KB", "decoder_layers": 2, "seed": 2},
    "unscaled gelu": {"scale_embedding": False, "activation_function": "gelu"},
    "untied": {"tie_word_embeddings": False, "generation": {"renormalize_logits": True}},
    "bfloat16": {"dtype": torch.bfloat16, "encoder_layers": 1},
    "float16": {"dtype": torch.float16, "generation": {"forced_eos_token_id": 2}},
    "another width": {"d_model": 48, "decoder_attention_heads": 6, "encoder_ffn_dim": 31},
}
N_SENTENCES = 60


@pytest.fixture(scope="module", params=FAMILY)
def pair(
    request: pytest.FixtureRequest,
    make_multilingual: MakeMultilingual,
    tmp_path_factory: pytest.TempPathFactory,
) -> Pair:
    folder = make_multilingual(**FAMILY[request.param])
    destination = tmp_path_factory.mktemp("imported") / "ours"
    import_m2m100(folder, destination)
    return load_theirs(folder), load_checkpoint(destination), folder


def sentences(checkpoint: Checkpoint, seed: int = 3) -> list[list[int]]:
    choose = random.Random(seed)
    return [
        [*choose.choices(range(4, 110), k=choose.randint(1, 12)), 2] for _ in range(N_SENTENCES)
    ]


def language(checkpoint: Checkpoint, code: str) -> int:
    first = checkpoint.tokenizer.first_id(code)
    assert first is not None
    return first


def test_logits_equal_theirs(pair: Pair) -> None:
    theirs, ours, _ = pair
    comparing.check_logits(theirs, ours, sentences(ours)[:40], first_word=4)


def their_answers(theirs: Any, ours: Checkpoint, code: str, **options: Any) -> Any:
    first_id = language(ours, code)
    source = comparing.padded(ours, sentences(ours))
    return comparing.generated(theirs, ours, source, forced_bos_token_id=first_id, **options)


def our_answers(ours: Checkpoint, code: str, **options: Any) -> list[Hypothesis]:
    first_id = language(ours, code)
    source = comparing.padded(ours, sentences(ours))
    return comparing.found_by_us(ours, source, first_id=first_id, **options)


@pytest.mark.parametrize("code", ["de", "ru"])
def test_beam_search_gives_the_same_tokens_and_scores(pair: Pair, code: str) -> None:
    theirs, ours, _ = pair
    found, expected = our_answers(ours, code), their_answers(theirs, ours, code)
    comparing.check_tokens(found, expected, ours)
    comparing.check_scores(found, expected)
    assert len({one.ids for one in found}) > 3
    assert {one.ids[0] for one in found} == {language(ours, code)}


def test_greedy_search_gives_the_same_tokens(pair: Pair) -> None:
    theirs, ours, _ = pair
    expected = their_answers(theirs, ours, "cs", num_beams=1, early_stopping=False)
    comparing.check_tokens(our_answers(ours, "cs", beam_size=1), expected, ours)


def test_the_cpu_engine_gives_the_same_tokens(pair: Pair) -> None:
    theirs, ours, _ = pair
    code = "zh" if "zh" in codes(ours) else "zh-Hans"
    options = comparing.search_options(ours, first_id=language(ours, code))
    jobs = [Job(n, tuple(row), options) for n, row in enumerate(sentences(ours))]
    outcomes = dict(run_jobs(build_engines(ours, "fp32"), jobs))
    found = [hypotheses(outcomes[job.id])[0] for job in jobs]
    comparing.check_tokens(found, their_answers(theirs, ours, code), ours)


def codes(ours: Checkpoint) -> list[str]:
    assert isinstance(ours.config.directions, AnyPair)
    return list(ours.config.directions.any_of)


TEXTS = (
    "the weather is nice", " The cat ☃☃ été größer", "DOG", "a", "1995!", "le chien aime q",
    "the  ｄｏｇ ½ … ﬁ", "the\u00a0cat\ttoday",
)  # fmt: skip


def test_the_tokeniser_reads_and_writes_as_theirs(pair: Pair) -> None:
    _, ours, folder = pair
    names = ours.config.multilingual_vocabulary
    assert names is not None
    for source in ("en", "cs"):
        token, _ = names.languages[source]
        # M2M-100's takes a code, NLLB's a token.
        theirs: Any = AutoTokenizer.from_pretrained(folder, src_lang=token.strip("_"))
        for text in TEXTS:
            ids = [one.id for one in ours.tokenizer.encode_source(text, "de", source)]
            assert ids == theirs(text).input_ids
            assert ids == ours.tokenizer.source_ids(text, "de", source)
        theirs.tgt_lang = names.languages["de"][0].strip("_")
        for text in TEXTS:
            expected = theirs(text_target=text).input_ids
            if names.behind:  # a legacy tokeniser has labels in another order than it generates
                expected = [expected[-1], *expected[:-1]]
            assert [one.id for one in ours.tokenizer.encode_target(text, "de")] == expected
    choose = random.Random(2)
    for _ in range(50):
        ids = choose.choices(range(4, 100), k=7)
        # Their tokeniser treats some languages of M2M-100 as text.
        decoded = theirs.decode([*ids, 2], skip_special_tokens=True)
        assert ours.tokenizer.decode([language(ours, "de"), *ids, 2]) == decoded.strip()


def test_symbols_in_a_text_stay_text(make_multilingual: MakeMultilingual, tmp_path: Path) -> None:
    for kind in ("m2m100", "nllb"):
        import_m2m100(make_multilingual(kind=kind), tmp_path / kind)
        codec = load_checkpoint(tmp_path / kind).tokenizer
        for text in ("</s>", "__fr__", "fra_Latn", "<unk>", "<mask>", "<unused3>"):
            first, *ids, end = codec.source_ids(text, "de", "en")
            assert (first, end) == (codec.encode_source("", "de", "en")[0].id, 2)
            assert all(3 <= token < 122 for token in ids)
        assert codec.tokenize("the dog")[0].start == 0
        text, spans = codec.decode_target([130, *codec.source_ids("the dog", "de", "en")[1:]])
        assert text == "the dog"
        assert (spans[0].start, spans[0].end) == (0, 0)
        with pytest.raises(LanguageError, match="a source language is needed"):
            codec.source_ids("a", "de")
        with pytest.raises(LanguageError, match="no target language 'tlh'; there are: a"):
            codec.source_ids("a", "tlh", "en")


def test_directions_are_abbreviated(make_multilingual: MakeMultilingual, tmp_path: Path) -> None:
    folder = make_multilingual()
    config = import_m2m100(folder, tmp_path / "all")
    assert len(config.directions) == 9900
    assert ("en", "fr") in config.directions
    assert ("en", "en") not in config.directions
    assert len((tmp_path / "all" / "config.json").read_text()) < 12_000
    assert load_checkpoint(tmp_path / "all").config == config
    some = import_m2m100(folder, tmp_path / "some", "x", Languages(("en", "fr"), ("de",)))
    assert some.directions == [("en", "de"), ("fr", "de")]
    three = ("en", "fr", "de")
    few = import_m2m100(folder, tmp_path / "few", None, Languages(three, three))
    assert few.directions == AnyPair(three)
    with pytest.raises(CheckpointError, match="no target language 'tlh'; there are: af, am"):
        import_m2m100(folder, tmp_path / "none", languages=Languages((), ("tlh",)))
    with pytest.raises(CheckpointError, match="from en to itself is no translation"):
        import_m2m100(folder, tmp_path / "none", languages=Languages(("en",), ("en",)))


def test_ids_of_languages_come_from_any_file_that_states_them(
    make_multilingual: MakeMultilingual, tmp_path: Path
) -> None:
    fast, slow = make_multilingual(kind="nllb"), make_multilingual(kind="nllb", fast=False)
    found = [import_m2m100(one, tmp_path / str(n)) for n, one in enumerate((fast, slow))]
    assert found[0].multilingual_vocabulary == found[1].multilingual_vocabulary
    # An additional language of a fine-tuned model, and one with another id.
    write_json(slow / "added_tokens.json", {"tyv_Cyrl": 324, "fra_Latn": 325})
    vocabulary = import_m2m100(slow, tmp_path / "added").multilingual_vocabulary
    assert vocabulary is not None
    assert vocabulary.languages["tyv"] == ("tyv_Cyrl", 324)
    assert vocabulary.languages["fr"] == ("fra_Latn", 325)
    (slow / "added_tokens.json").unlink()
    write_json(
        slow / "special_tokens_map.json",
        {"additional_special_tokens": ["fra_Latn", {"content": "eng_Latn"}, "<x>"]},
    )
    vocabulary = import_m2m100(slow, tmp_path / "named").multilingual_vocabulary
    assert vocabulary is not None
    assert vocabulary.languages == {"fr": ("fra_Latn", 121), "en": ("eng_Latn", 122)}


def test_embeddings_are_stored_in_float32(
    make_multilingual: MakeMultilingual, tmp_path: Path
) -> None:
    import_m2m100(make_multilingual(dtype=torch.bfloat16), tmp_path / "ours")
    weights = load_file(tmp_path / "ours" / "model.safetensors")
    assert weights.pop("source_embedding.weight").dtype == torch.float32
    assert {tensor.dtype for tensor in weights.values()} == {torch.bfloat16}


DAMAGES: dict[str, tuple[Damage, str]] = {
    "no pieces": (
        lambda f: (f / "sentencepiece.bpe.model").unlink(),
        "sentencepiece.bpe.model: No such file or directory",
    ),
    "no vocabulary": (
        lambda f: (f / "vocab.json").unlink(), "vocab.json: No such file or directory",
    ),
    "another tokeniser": (changing("tokenizer_config.json", tokenizer_class="SMALL100Tokenizer"),
        "tokenizer_class 'SMALL100Tokenizer'; attend can import M2M100Tokenizer, NllbTokenizer"),
    "other languages": (changing("tokenizer_config.json", language_codes="mine"),
        "tokenizer_config.json: language_codes 'mine'; attend knows 'm2m100', 'wmt21'"),
    "another architecture": (changing("config.json", model_type="nllb-moe"),
        "config.json: model_type 'nllb-moe' (a mixture of experts); attend imports only 'marian'"),
    "a Marian model": (changing("config.json", model_type="marian"),
        "config.json: model_type 'marian'; use `attend import marian`"),
    "too small a vocabulary": (changing("config.json", vocab_size=90),
        "vocab.json: 121 pieces, more than 90 ids"),
    "another end": (changing("config.json", eos_token_id=5),
        "eos_token_id = 2, not 5 as config.json implies"),
    "another search": (
        changing("generation_config.json", num_beams=12, do_sample=True, bad_words_ids=[[7000]]),
        "generation_config.json: num_beams = 12; generation_config.json: do_sample = true; "
        "bad_words_ids or suppress_tokens: 7000 is outside the vocabulary",
    ),
    "swapped symbols": (
        lambda f: write_json(
            f / "vocab.json", {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "▁a": 4}
        ),
        "vocab.json: ids 0 to 3 are <pad>, <s>, </s>, <unk>, not <s>, <pad>, </s>, <unk>",
    ),
    "a language among the pieces": (
        lambda f: write_json(f / "added_tokens.json", {"__fr__": 7}),
        "the token of 'fr' has id 7, not 121 … 228",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", DAMAGES)
def test_a_wrong_folder_is_refused_in_one_line_and_nothing_is_written(
    make_multilingual: MakeMultilingual, tmp_path: Path, how: str
) -> None:
    damage, message = DAMAGES[how]
    folder = make_multilingual()
    damage(folder)
    with pytest.raises(ModelError) as caught:
        import_m2m100(folder, tmp_path / "ours")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_the_other_verb_names_this_one(make_multilingual: MakeMultilingual, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="'m2m_100'; use `attend import m2m100`"):
        import_marian(make_multilingual(), tmp_path / "ours")
    with pytest.raises(CheckpointError, match="no such folder; expected an M2M-100 or NLLB model"):
        import_m2m100(tmp_path / "x", tmp_path / "ours")
