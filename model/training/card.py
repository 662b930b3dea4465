"""CARD.md: a checkpoint's training data, credits and scores."""

from __future__ import annotations

from model.training.config import TrainingConfig
from model.training.state import Counters


def model_card(name: str, config: TrainingConfig, counters: Counters, n_parameters: int) -> str:
    """Return the card without scores and known faults, which are added manually."""
    directions = ", ".join(
        f"{source} → {target}" for source, target in sorted(config.all_directions)
    )
    credit_lines = "\n".join(
        f"- **{corpus.name}**: {corpus.credit or 'no credit given'}. "
        f"Origin: {corpus.origin or 'not stated'}. Licence: {corpus.licence or 'not stated'}."
        for corpus in config.corpora
    )
    return f"""# {name}

A Transformer encoder-decoder (Vaswani et al. 2017) of {n_parameters / 1e6:.1f} M parameters.

Translates {directions}. Trained by `attend train` for {counters.step:,} steps on \
{counters.tokens:,} target tokens in {counters.seconds / 3600:.1f} hours; every setting is in \
training.json.

## Trained on

{credit_lines}
"""
