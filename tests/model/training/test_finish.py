from model.training.config import TrainingConfig
from model.training.finish import model_card
from model.training.state import Counters


def test_card_names_directions_corpora_and_effort() -> None:
    corpora = [
        {"name": "Mine", "files": ["a"], "languages": ["en", "fr"], "credit": "By me",
         "origin": "https://example.org", "licence": "CC0"},
        {"name": "Yours", "files": ["b"], "languages": ["en", "fr"]},
    ]  # fmt: skip
    config = TrainingConfig.parse({"corpora": corpora}, "recipe")
    card = model_card("en-fr", config, Counters(1200, 3_000_000, 5400.0), 9_100_000)
    assert card.startswith("# en-fr\n")
    assert "of 9.1 M parameters" in card
    assert "Translates en → fr, fr → en." in card
    assert "1,200 steps on 3,000,000 target tokens in 1.5 hours" in card
    assert "- **Mine**: By me. Origin: https://example.org. Licence: CC0." in card
    assert "- **Yours**: no credit given. Origin: not stated. Licence: not stated." in card
