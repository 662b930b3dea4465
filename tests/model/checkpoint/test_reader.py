import json
import math
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from model.alignment.from_attention import AlignmentMethod
from model.checkpoint import writer
from model.checkpoint.config import CheckpointConfig, read_config
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint
from model.checkpoint.writer import record_alignment, save_checkpoint
from model.decoding.rules import HuggingFaceRule, MarianRule
from model.errors import CheckpointError
from model.text.tokenizer import Tokenizer
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer

FILES = [
    "CARD.md", "SHA256SUMS", "config.json", "model.safetensors", "sentencepiece.model",
    "training.json",
]  # fmt: skip
SOURCE, TARGET = torch.tensor([[2, 9, 30, 0]]), torch.tensor([[369, 12, 13]])


def configuration(tokenizer: Tokenizer, **changes: object) -> CheckpointConfig:
    shape: dict[str, object] = {
        "source_vocab_size": tokenizer.vocab_size,
        "target_vocab_size": tokenizer.vocab_size,
        "pad_id": tokenizer.pad_id,
        "eos_id": tokenizer.eos_id,
        "start_id": tokenizer.pad_id,
    }
    transformer = PRESETS["tiny"].model_copy(update=shape | changes)
    directions = [("en", "fr"), ("fr", "en")]
    return CheckpointConfig(name="tiny", directions=directions, transformer=transformer)


def parameters(model: Transformer) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def save(folder: Path, tokenizer: Tokenizer, card: str = "new", **changes: object) -> None:
    config = configuration(tokenizer, **changes)
    weights = parameters(Transformer(config.transformer))
    save_checkpoint(folder, config, weights, tokenizer, card, {"step": 7})


@pytest.fixture
def saved(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    folder = tmp_path / "tiny"
    save(folder, tokenizer, "# A card, naïve\n")
    return folder


def reason(folder: Path) -> str:
    """Return the error of a folder, which is one line."""
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert message == message.strip()
    return message


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_order": "pre", "output_bias": True, "position_layout": "halves"},
        {"share_embeddings": False},
        {"tie_output": False},
        {"share_embeddings": False, "tie_output": False},
    ],
    ids=str,
)
def test_exact_round_trip(tmp_path: Path, tokenizer: Tokenizer, changes: dict[str, object]) -> None:
    config = configuration(tokenizer, **changes)
    model = Transformer(config.transformer).eval()
    save_checkpoint(tmp_path / "x", config, parameters(model), tokenizer, "card", {})
    loaded = load_checkpoint(tmp_path / "x")
    assert loaded.config == config
    assert loaded.tokenizer.files == tokenizer.files
    assert not load_model(loaded).training
    for name, tensor in parameters(model).items():
        assert torch.equal(tensor, parameters(load_model(loaded))[name]), name
    with torch.no_grad():
        assert torch.equal(load_model(loaded)(SOURCE, TARGET), model(SOURCE, TARGET))
    assert loaded.n_parameters == model.n_parameters()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_weights_are_read_as_the_float32_of_the_same_value(
    tmp_path: Path, tokenizer: Tokenizer, dtype: torch.dtype
) -> None:
    config = configuration(tokenizer)
    halves = {n: p.to(dtype) for n, p in parameters(Transformer(config.transformer)).items()}
    save_checkpoint(tmp_path / "x", config, halves, tokenizer, "card", {})
    for name, tensor in parameters(load_model(load_checkpoint(tmp_path / "x"))).items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, halves[name].float())


def test_a_folder_has_the_files_of_its_format(saved: Path) -> None:
    assert sorted(path.name for path in saved.iterdir()) == FILES
    assert (saved / "CARD.md").read_text(encoding="utf-8") == "# A card, naïve\n"
    assert json.loads((saved / "training.json").read_text()) == {"step": 7}
    assert json.loads((saved / "config.json").read_text())["version"] == 1
    assert load_checkpoint(saved).folder == saved


def test_the_digest_is_of_what_decides_the_answers(saved: Path) -> None:
    before = load_checkpoint(saved).digest
    (saved / "CARD.md").write_text("another card")
    assert load_checkpoint(saved).digest == before
    edit(saved / "config.json", lambda config: config.update(length_penalty=1.0))
    assert load_checkpoint(saved).digest != before


def test_missing_folder_and_not_a_folder(tmp_path: Path) -> None:
    assert reason(tmp_path / "none").startswith(f"{tmp_path / 'none'}: no such folder")
    (tmp_path / "file").touch()
    assert reason(tmp_path / "file").startswith(f"{tmp_path / 'file'}: not a folder")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "sentencepiece.model"])
def test_each_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    assert reason(saved) == f"{saved / name}: No such file or directory"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "sentencepiece.model"])
def test_a_folder_in_place_of_a_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    (saved / name).mkdir()
    assert reason(saved).startswith(f"{saved / name}: ")


def test_card_and_settings_are_not_needed(saved: Path) -> None:
    (saved / "CARD.md").unlink()
    (saved / "training.json").unlink()
    load_checkpoint(saved)


@pytest.mark.parametrize("kept", [0.0, 1, 8, 100, 0.3, 0.9, -1])
def test_truncated_weights(saved: Path, kept: float) -> None:
    path = saved / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if isinstance(kept, float) else int(kept)])
    assert reason(saved).startswith(f"{path}: damaged or not a safetensors file: ")


@pytest.mark.parametrize(
    "content", [b"\xff" * 64, b"PK\x03\x04" + b"\x00" * 100, b"\x02\x00\x00\x00\x00\x00\x00\x00[]"]
)
def test_weights_of_another_format(saved: Path, content: bytes) -> None:
    (saved / "model.safetensors").write_bytes(content)
    assert reason(saved).startswith(f"{saved / 'model.safetensors'}: damaged or not a safetensors")


def test_all_files_have_the_same_permissions(saved: Path) -> None:
    modes = {(saved / name).stat().st_mode for name in FILES}
    assert len(modes) == 1


class Malicious:
    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.victim,)


@pytest.mark.parametrize("name", FILES)
def test_a_pickle_in_place_of_a_file_runs_nothing(saved: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "executed"
    dangerous = pickle.dumps(Malicious(victim))
    pickle.loads(dangerous)
    assert victim.exists(), "the pickle would run code if it were loaded"
    victim.unlink()
    (saved / name).write_bytes(dangerous)
    (saved / "pytorch_model.bin").write_bytes(dangerous)
    if name in ("CARD.md", "training.json"):
        load_checkpoint(saved)
    else:
        assert reason(saved).startswith(f"{saved / name}: ")
    assert not victim.exists()


def change_weights(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path)


W_1 = "encoder.layers.0.feed_forward.w_1.weight"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop(W_1), f"tensor '{W_1}' is missing"),
        (lambda w: w.update({W_1: torch.zeros(32, 64)}),
         f"tensor '{W_1}' has shape [32, 64], config.json requires [64, 32]"),
        (lambda w: w.update({W_1: torch.zeros(64, 32, dtype=torch.int8)}),
         f"tensor '{W_1}' is int8 without a scale"),
        (lambda w: w[W_1].__setitem__((3, 4), float("nan")),
         f"tensor '{W_1}' holds NaN or infinity"),
        (lambda w: w[W_1].__setitem__((3, 4), float("-inf")),
         f"tensor '{W_1}' holds NaN or infinity"),
        (lambda w: w.update({"lm_head\n.weight": torch.zeros(1)}),
         r"unknown tensor 'lm_head\n.weight'"),
    ],
)  # fmt: skip
def test_unfit_weights(
    saved: Path, change: Callable[[dict[str, Tensor]], object], message: str
) -> None:
    change_weights(saved, change)
    assert reason(saved) == f"{saved / 'model.safetensors'}: {message}"


LARGEST_SCALE = torch.finfo(torch.float32).max / 128


@pytest.mark.parametrize(
    "scale",
    [
        [LARGEST_SCALE * (1 + 1e-6)], [math.inf], [math.nan], [0.0], [-0.1], [0.1, 0.1],
    ],
)  # fmt: skip
def test_a_scale_whose_values_are_not_numbers(saved: Path, scale: list[float]) -> None:
    codes = torch.zeros(64, 32, dtype=torch.int8)
    change_weights(saved, lambda w: w.update({W_1: codes, f"{W_1}_scale": torch.tensor(scale)}))
    assert reason(saved).endswith(f"the scale of '{W_1}' is not a positive number")


def test_the_largest_scale_makes_finite_values_of_all_codes(saved: Path) -> None:
    codes = torch.full((64, 32), -128, dtype=torch.int8)
    scale = torch.tensor([LARGEST_SCALE])
    change_weights(saved, lambda w: w.update({W_1: codes, f"{W_1}_scale": scale}))
    (saved / "SHA256SUMS").unlink()
    assert np.isfinite(load_checkpoint(saved).weights[W_1]).all()


def test_weights_of_an_impossible_size_are_refused_without_memory_for_them(saved: Path) -> None:
    huge = {"d_model": 2**20, "d_ff": 2**22}
    edit(saved / "config.json", lambda config: config["transformer"].update(huge))
    assert "config.json requires [370, 1048576]" in reason(saved)


HUGGING_FACE = {"model_type": "marian", "architectures": ["MarianMTModel"], "d_model": 512}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON: Expecting value"),
        (b"{", "not JSON: "),
        (b"\xff\xfe\x00", "not JSON: "),
        (b"[" * 100_000, "not JSON: "),
        (b'{"format":' * 100_000, "not JSON: "),
        (b"[]", "not the configuration of an attend checkpoint"),
        (b"null", "not the configuration of an attend checkpoint"),
        (b"{}", "not the configuration of an attend checkpoint"),
        (json.dumps(HUGGING_FACE).encode(),
         "not the configuration of an attend checkpoint (a Marian model: "
         "convert it with `attend import marian`"),
        (json.dumps(HUGGING_FACE | {"model_type": "t5"}).encode(),
         "not the configuration of an attend checkpoint (a Hugging Face 't5' model?)"),
        (b'{"format": "attend"}', "format version None, this attend reads version 1"),
        (b'{"format": "attend", "version": 2}', "format version 2, this attend reads version 1"),
        (b'{"format": "attend", "version": "1\\n"}', r"format version '1\n', this attend reads"),
        (b'{"format": "attend", "version": true}', "format version True, this attend reads"),
        (b'{"format": "attend", "version": 1}', "'name': field required; "),
    ],
)  # fmt: skip
def test_foreign_configurations(saved: Path, content: bytes, message: str) -> None:
    (saved / "config.json").write_bytes(content)
    assert reason(saved).startswith(f"{saved / 'config.json'}: {message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(temperature=1), "unknown key 'temperature'"),
        (lambda c: c["transformer"].update(n_experts=8), "unknown key 'transformer.n_experts'"),
        (lambda c: c.update({"a\nb": 1}), r"unknown key 'a\nb'"),
        (lambda c: c["transformer"].update(d_model=33),
         "'transformer': d_model 33 is not divisible by n_heads 4"),
        (lambda c: c["transformer"].update(d_model="32"), "'transformer.d_model': input should be"),
        (lambda c: c.update(name=""), "'name': "),
        (lambda c: c.update(directions=[]), "'directions.pairs': list should have"),
        (lambda c: c.update(directions={"any_of": ["en"]}), "'directions.any_of': any_of needs"),
        (lambda c: c.update(directions={"any_of": ["x", "x"]}), "'directions.any_of': any_of con"),
        (lambda c: c.update(directions={"all": 1}), "'directions.any_of.any_of': field required"),
        (lambda c: c.update(directions=[["en", "fr"]] * 2), "directions contains a pair twice"),
        (lambda c: c.update(directions=[["en"]]), "'directions.pairs.0.1': field required"),
        (lambda c: c.update(beam_size=9), "'beam_size': input should be less than or equal to 8"),
        (lambda c: c.update(beam_size="4"), "'beam_size': input should be a valid integer"),
        (lambda c: c.update(length_penalty=-1), "'length_penalty': input should be"),
        (lambda c: c.update(length_penalty=float("nan")), "'length_penalty': input should be"),
        (lambda c: c.update(length_penalty=float("inf")), "'length_penalty': input should be"),
    ],
)  # fmt: skip
def test_bad_values_in_the_configuration_are_named(
    saved: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    edit(saved / "config.json", change)
    assert reason(saved).startswith(f"{saved / 'config.json'}: {message}")


def test_a_garbage_tokenizer(saved: Path) -> None:
    (saved / "sentencepiece.model").write_bytes(b"garbage")
    assert reason(saved) == f"{saved / 'sentencepiece.model'}: not a SentencePiece model"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source_vocab_size": 371, "target_vocab_size": 371},
         "vocabulary size 370, but config.json has 371"),
        ({"target_vocab_size": 371, "share_embeddings": False},
         "vocabulary size 370, but config.json has 371"),
        ({"pad_id": 5}, "pad_id 369, but config.json has 5"),
        ({"eos_id": 5}, "eos_id 0, but config.json has 5"),
    ],
)  # fmt: skip
def test_a_tokenizer_of_another_model(saved: Path, changes: dict[str, Any], message: str) -> None:
    edit(saved / "config.json", lambda config: config["transformer"].update(changes))
    assert reason(saved) == f"{saved / 'sentencepiece.model'}: {message}"


def test_a_direction_without_its_language_symbol(saved: Path) -> None:
    edit(saved / "config.json", lambda config: config["directions"].append(["en", "de"]))
    message = "no symbol for 'de', but config.json translates to it"
    assert reason(saved) == f"{saved / 'sentencepiece.model'}: {message}"


def test_the_configuration_can_be_read_alone(saved: Path, tokenizer: Tokenizer) -> None:
    (saved / "model.safetensors").unlink()
    assert read_config(saved) == configuration(tokenizer)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_saving_replaces_a_checkpoint_whole(saved: Path, tokenizer: Tokenizer) -> None:
    (saved / "left-over").touch()
    save(saved, tokenizer, norm_order="pre")
    assert sorted(contents(saved)) == FILES
    assert load_checkpoint(saved).config == configuration(tokenizer, norm_order="pre")
    assert [path.name for path in saved.parent.iterdir()] == [saved.name], "nothing lies around"


@pytest.mark.parametrize("failing", ["write_tensors", "write_text"])
def test_a_save_that_fails_leaves_the_old_folder(
    saved: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def disk_full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    before = contents(saved)
    monkeypatch.setattr(writer, failing, disk_full)
    with pytest.raises(OSError, match="No space left"):
        save(saved, tokenizer)
    assert contents(saved) == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_leftovers_of_an_earlier_crash_do_not_matter(saved: Path, tokenizer: Tokenizer) -> None:
    for name in (".tiny.partial", ".tiny.replaced"):
        shutil.copytree(saved, saved.with_name(name))
    save(saved, tokenizer)
    assert (saved / "CARD.md").read_text() == "new\n"
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_other_folders_are_not_overwritten(tmp_path: Path, tokenizer: Tokenizer) -> None:
    precious = tmp_path / "home" / "thesis.tex"
    precious.parent.mkdir()
    precious.touch()
    for path in (precious.parent, precious):
        with pytest.raises(CheckpointError, match="exists and is not a checkpoint") as caught:
            save(path, tokenizer)
        assert str(caught.value).startswith(f"{path}: ")
    assert precious.exists()


def change_config(folder: Path, **changes: object) -> None:
    edit(folder / "config.json", lambda config: config.update(changes))


def test_a_search_rule_travels_with_the_checkpoint(saved: Path) -> None:
    assert read_config(saved).search_rule is None
    change_config(saved, search_rule={"early_stopping": "never", "max_target_tokens": 9})
    rule = HuggingFaceRule(early_stopping="never", max_target_tokens=9)
    assert read_config(saved).search_rule == rule
    change_config(saved, search_rule={"unk_id": 3, "max_length_factor": 1.5})
    assert read_config(saved).search_rule == MarianRule(3, 1.5)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"early": True}, "unknown key 'search_rule.transformers.early'"),
        ({"early_stopping": "maybe"}, "search_rule.transformers.early_stopping"),
        ({"unk_id": 1, "early": True}, "unknown key 'search_rule.marian.early'"),
        ({"unk_id": 1, "max_length_factor": 0}, "max_length_factor must be above 0, not 0"),
        ({"unk_id": 10**6}, "search_rule.unk_id 1000000 is outside the target vocabulary"),
        ("marian", "search_rule"),
        ({"max_target_tokens": 0}, "max_target_tokens must be at least 1, not 0"),
    ],
)
def test_a_wrong_search_rule_is_named(saved: Path, rule: object, message: str) -> None:
    change_config(saved, search_rule=rule)
    with pytest.raises(CheckpointError) as caught:
        read_config(saved)
    assert message in str(caught.value)


def test_how_it_aligns_is_recorded(saved: Path) -> None:
    assert read_config(saved).alignment is None
    before = load_checkpoint(saved)
    method = AlignmentMethod(layer=1, head=3, both_directions=True, threshold=0.25)
    record_alignment(saved, method)
    after = load_checkpoint(saved)
    assert after.config == before.config.model_copy(update={"alignment": method})
    assert after.digest != before.digest
    assert sorted(path.name for path in saved.iterdir()) == FILES


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ({"layer": 2}, "alignment.layer 2 is outside the decoder"),
        ({"head": 4}, "alignment.head 4 is outside the decoder"),
        ({"head": -1}, "'alignment.head': input should be greater than or equal to 0"),
        ({"symmetrisation": "union"}, "'alignment.symmetrisation': input should be 'argmax'"),
        ({"threshold": 1}, "'alignment.threshold': input should be less than 1"),
        ({"heads": [1]}, "unknown key 'alignment.heads'"),
    ],
)
def test_bad_alignments_are_refused(saved: Path, method: dict[str, object], message: str) -> None:
    change_config(saved, alignment=method)
    with pytest.raises(CheckpointError) as caught:
        read_config(saved)
    assert message in str(caught.value)


def test_no_method_is_recorded_that_the_checkpoint_does_not_have(saved: Path) -> None:
    written = (saved / "config.json").read_bytes()
    with pytest.raises(CheckpointError, match=r"alignment\.layer 7 is outside the decoder"):
        record_alignment(saved, AlignmentMethod(layer=7))
    assert (saved / "config.json").read_bytes() == written


def test_both_directions_must_be_there_to_align_by_them(saved: Path) -> None:
    assert read_config(saved).is_two_way
    change_config(saved, directions=[["en", "fr"]])
    assert not read_config(saved).is_two_way
    with pytest.raises(CheckpointError, match="requires the reverse of every direction"):
        record_alignment(saved, AlignmentMethod(both_directions=True))


def test_marians_vocabulary_must_be_there(saved: Path) -> None:
    change_config(saved, marian_vocabulary={"separate": False, "target_symbols": {}})
    with pytest.raises(CheckpointError, match=r"source\.spm: No such file"):
        load_checkpoint(saved)


def test_fields_of_later_versions_may_be_missing(saved: Path) -> None:
    def leave_out(config: dict[str, Any]) -> None:
        for later in ("search_rule", "marian_vocabulary", "alignment"):
            del config[later]
        for later in ("decoder_d_ff", "decoder_n_heads", "scale_embedding"):
            del config["transformer"][later]

    before = load_checkpoint(saved).config
    edit(saved / "config.json", leave_out)
    assert load_checkpoint(saved).config == before


@pytest.mark.parametrize(
    "changes",
    [{"n_encoder_layers": 10**6, "n_decoder_layers": 10**6}, {"n_encoder_layers": 10**18},
     {"n_decoder_layers": 10**6, "d_model": 2**20}],
)  # fmt: skip
def test_a_configuration_of_millions_of_layers_is_refused_before_anything_is_built(
    saved: Path, changes: dict[str, int]
) -> None:
    edit(saved / "config.json", lambda config: config["transformer"].update(changes))
    began = time.process_time()
    with pytest.raises(CheckpointError, match=r"tensors, too few for the [\d,]+ layers"):
        load_checkpoint(saved)
    assert time.process_time() - began < 10
