import tomllib
from pathlib import Path
from typing import Any

import pytest

from model.errors import ConfigError
from model.training.config import TrainingConfig, read_recipe
from model.training.data.noise import NoiseConfig

CORPUS = {"name": "mine", "files": ["mine.tsv"], "languages": ["en", "fr"]}


def parse(**values: Any) -> TrainingConfig:
    return TrainingConfig.parse({"corpora": [CORPUS]} | values, "my.toml")


def test_a_recipe_of_corpora_alone_is_the_papers_base_model() -> None:
    config = parse()
    optimizer, schedule = config.optimizer, config.schedule
    assert (optimizer.kind, optimizer.beta_1, optimizer.beta_2) == ("adam", 0.9, 0.98)
    assert (optimizer.epsilon, optimizer.weight_decay, optimizer.clip_norm) == (1e-9, 0.0, 0.0)
    assert (schedule.shape, schedule.peak, schedule.warmup_steps) == ("inverse_sqrt", 1.0, 4000)
    assert schedule.steps == 100_000
    assert (config.batch_tokens, config.accumulate) == (25_000, 1)
    assert config.label_smoothing == 0.1
    assert config.average_last == 5
    assert not any(config.noise.model_dump().values())
    shape = config.transformer(pad_id=7999, eos_id=0, vocab_size=8000)
    assert (shape.d_model, shape.d_ff, shape.n_heads) == (512, 2048, 8)
    assert (shape.n_encoder_layers, shape.n_decoder_layers) == (6, 6)
    assert (shape.dropout, shape.norm_order, shape.activation) == (0.1, "post", "relu")
    assert shape.share_embeddings
    assert shape.tie_output


def test_both_directions_are_trained_by_default() -> None:
    assert parse().all_directions == {("en", "fr"), ("fr", "en")}
    assert parse(directions=[["fr", "en"]]).all_directions == {("fr", "en")}


def test_model_table_changes_the_preset() -> None:
    shape = parse(preset="small", model={"d_ff": 512}).transformer(9, 0, 10)
    assert (shape.d_model, shape.d_ff, shape.norm_order) == (256, 512, "pre")
    assert (shape.source_vocab_size, shape.pad_id, shape.start_id) == (10, 9, 9)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"batch_token": 1}, "unknown key 'batch_token'"),
        ({"noise": {"joined": 0.1}}, "unknown key 'noise.joined'"),
        ({"corpora": []}, "'corpora': "),
        ({"corpora": [{"name": "x"}]}, "'corpora.0.languages': field required"),
        ({"preset": "huge"}, "no preset 'huge'"),
        ({"label_smoothing": 1.0}, "'label_smoothing': "),
        ({"schedule": {"peak": float("inf")}}, "'schedule.peak': .*finite"),
        ({"schedule": {"peak": float("nan")}}, "'schedule.peak': "),
        ({"schedule": 3}, "'schedule': "),
        ({"schedule": {"steps": 10, "decay_steps": 11}}, "decay_steps exceeds"),
        ({"directions": [["en", "de"]]}, "directions: no corpus for en → de"),
        (
            {
                "corpora": [CORPUS, CORPUS | {"name": "odd", "languages": ["en", "de"]}],
                "directions": [["en", "fr"]],
            },
            r"corpora: 'odd' \(en-de\) matches none of the directions",
        ),
        (
            {"validation": {"files": {"a": "a.tsv"}, "languages": ["en", "de"]}},
            "validation.languages: en-de is not trained",
        ),
        ({"corpora": [CORPUS | {"files": []}]}, "give either files or written_numbers"),
        ({"corpora": [CORPUS | {"written_numbers": 9}]}, "give either files or written_numbers"),
        (
            {"corpora": [{"name": "n", "languages": ["en", "de"], "written_numbers": 9}]},
            "written_numbers are English and French",
        ),
        ({"batch_tokens": 100}, "max_length 200 exceeds batch_tokens"),
        (
            {"max_length": 200, "model": {"max_length": 100}},
            r"max_length 200 exceeds the model's \(100\)",
        ),
        ({"model": {"d_modell": 100}}, r"\[model\]: unknown key 'd_modell'"),
        ({"model": {"n_heads": 7}}, r"\[model\]: d_model 512 is not divisible by n_heads 7"),
        ({"validation": {"patience": 2}}, "patience needs validation.files"),
        (
            {"validation": {"files": {"a": "b"}, "metric": "bleu", "bleu_pairs": 0, "patience": 1}},
            "metric bleu needs bleu_pairs",
        ),
        (
            {"tokenizer": {"file": "a", "vocab_size": 8}},
            "tokenizer: give either file or vocab_size",
        ),
        ({"corpora": [CORPUS | {"directions": [["en", "de"]]}]}, "directions: en → de is not of"),
        ({"corpora": [CORPUS | {"tag": "B T"}]}, "corpora.0.tag"),
        ({"model": {"pad_id": 7}}, "model.pad_id follows from the vocabulary"),
    ],
)
def test_faults_are_named_in_one_line(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=rf"^my\.toml: .*{reason}") as caught:
        parse(**values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, 200),
        ({"preset": "tiny"}, 128),
        ({"model": {"max_length": 90}}, 90),
        ({"preset": "tiny", "model": {"max_length": 900}}, 200),
        ({"preset": "tiny", "max_length": 40}, 40),
    ],
)
def test_the_default_max_length_fits_the_model(values: dict[str, Any], expected: int) -> None:
    config = parse(**values)
    assert config.max_length == expected
    assert TrainingConfig.parse(config.model_dump(mode="json"), "again") == config


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"steps = = 3", "not TOML"), (b"name = '\xff'", "not TOML")],
)
def test_unreadable_recipe(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "recipe.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"recipe\.toml: {reason}"):
        TrainingConfig.parse(read_recipe(path), str(path))
    with pytest.raises(ConfigError, match="Is a directory"):
        read_recipe(tmp_path)


@pytest.mark.parametrize(
    "recipe", sorted(Path("recipes").glob("*.toml")), ids=lambda path: path.name
)
def test_recipes_of_the_repository_are_valid_and_give_credit(recipe: Path) -> None:
    config = TrainingConfig.parse(read_recipe(recipe), str(recipe))
    assert all(corpus.origin and corpus.licence and corpus.credit for corpus in config.corpora)
    assert TrainingConfig.parse(config.model_dump(mode="json"), "again") == config


def test_documentation_names_every_noise_and_its_shortest_recipe_is_valid() -> None:
    reference = Path("docs/recipes.md").read_text()
    for kind in NoiseConfig.model_fields:
        assert f"`{kind}`" in reference, kind
    recipe = Path("docs/training.md").read_text().split("```toml")[1].split("```")[0]
    config = TrainingConfig.parse(tomllib.loads(recipe), "docs/training.md")
    assert config.all_directions == {("en", "fr"), ("fr", "en")}


@pytest.mark.parametrize(("preset", "size"), [("tiny", 512), ("small", 8_000), ("base", 37_000)])
def test_a_preset_is_a_whole_recipe(preset: str, size: int) -> None:
    config = parse(preset=preset)
    assert config.vocab_size == size
    shape = config.transformer(pad_id=size - 1, eos_id=0, vocab_size=size)
    assert config.max_length <= shape.max_length
    assert parse(preset=preset, tokenizer={"vocab_size": 600}).vocab_size == 600
