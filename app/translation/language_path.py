"""The models that a text passes through, one after the other, and what each is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from app.errors import InvalidRequestError
from app.text.glossary import Glossary
from app.text.languages import Direction
from app.translation.served_model import ServedModel
from app.wire.native.translate_request import TranslateRequest
from model.decoding.hypothesis import SearchOptions


@dataclass(frozen=True, slots=True)
class Leg:
    """A model's part in a request."""

    model: ServedModel
    direction: Direction
    options: SearchOptions
    glossary: Glossary


def legs_of(
    request: TranslateRequest,
    languages: tuple[str, ...],
    by_direction: Mapping[Direction, ServedModel],
) -> list[Leg]:
    """A leg from each language to the next; none where there is one language alone.

    What the request asks for is asked of the last model; those before give their best. The first
    says the glossary's terms, and the second leaves them as they are. Raises as
    `ServedModel.search_options`.
    """
    legs: list[Leg] = []
    for source, target in pairwise(languages):
        model = by_direction[source, target]
        wanted = request
        if target != languages[-1]:
            wanted = request.model_copy(update={"alternatives": 0, "max_target_tokens": None})
        glossary = request.terms.of_what_is_said() if legs else request.terms
        legs.append(Leg(model, (source, target), model.search_options(wanted), glossary))
    return legs


def sole_leg(legs: list[Leg]) -> Leg:
    """The one model that translates. Raises `InvalidRequestError` where there are none or two."""
    if not legs:
        raise InvalidRequestError.at("/text", "The text is in the target language already")
    if len(legs) > 1:
        pairs = " and ".join(f"{leg.direction[0]} to {leg.direction[1]}" for leg in legs)
        detail = f"Two models translate this, one after the other; ask for {pairs}, one by one"
        raise InvalidRequestError.at("/target", detail)
    return legs[0]
