import numpy as np
import pytest

from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule, MarianRule, Rule
from model.engine.cpu.forward.slots import (
    ENDED,
    MAX_BEAM,
    NO_TOKEN,
    RULE,
    SETTLED,
    Pages,
    Slots,
    make_pages,
    make_slots,
    normalisation,
    occupy,
    pages_needed,
    rule_record,
    take_page,
    vacate,
)
from tests.model.engine.cpu.running import pack_model
from tests.model.make_model import MakeModel

N_SLOTS, N_PAGES, LONGEST = 6, 40, 50


@pytest.fixture
def pages(make_model: MakeModel) -> Pages:
    return make_pages(pack_model(make_model(), "float32"), N_PAGES)


def in_use(slots: Slots) -> list[int]:
    numbers: list[int] = np.flatnonzero(slots.active).tolist()
    return numbers


def owned(slots: Slots, slot: int) -> list[int]:
    pages: list[int] = slots.owned[slot, : slots.n_owned[slot]].tolist()
    return pages


def check_each_page_is_in_one_place(slots: Slots, pages: Pages) -> None:
    held = [page for slot in in_use(slots) for page in owned(slots, slot)]
    assert sorted(held + pages.free[: pages.n_free[0]].tolist()) == list(range(N_PAGES))


@pytest.mark.parametrize("seed", range(5))
def test_a_page_is_free_or_of_one_sentence(pages: Pages, seed: int) -> None:
    choose = np.random.default_rng(seed)
    slots = make_slots(N_SLOTS, LONGEST)
    for _ in range(300):
        slot = int(choose.integers(N_SLOTS))
        if slots.active[slot]:
            if choose.random() < 0.5:
                vacate(slots, slot, pages)
                assert not slots.active[slot]
            elif pages.n_free[0]:
                page = take_page(slots, slot, pages)
                assert owned(slots, slot)[-1] == page
        elif pages.n_free[0] >= 4:
            n_source = int(choose.integers(1, LONGEST + 1))
            occupy(slots, slot, pages, n_source, 3, 2, 9, 1)
            positions = slots.source[slot, :n_source]
            assert np.unique(positions).size == n_source
            assert np.unique(positions // pages.rows).tolist() == sorted(owned(slots, slot))
        check_each_page_is_in_one_place(slots, pages)
    for slot in in_use(slots):
        vacate(slots, slot, pages)
    assert pages.n_free[0] == N_PAGES
    check_each_page_is_in_one_place(slots, pages)


def test_earlier_contents_of_a_slot_are_forgotten(pages: Pages) -> None:
    slots = make_slots(1, LONGEST)
    occupy(slots, 0, pages, 4, 5, 5, 9, 1)
    slots.failed[0], slots.length[0], slots.n_live[0] = True, 7, 5
    slots.score[0], slots.live[0] = -0.5, -3
    vacate(slots, 0, pages)
    occupy(slots, 0, pages, 2, 1, 1, 3, 8)
    assert slots.active[0]
    assert not slots.failed[0]
    assert (slots.length[0], slots.limit[0], slots.source_length[0]) == (0, 3, 2)
    assert (slots.beam[0], slots.n_best[0]) == (1, 1)
    assert (slots.n_live[0], slots.live[0, 0], slots.latest[0, 0]) == (1, 0, 8)
    assert (slots.score[0] == -np.inf).all()


@pytest.mark.parametrize(
    ("n_source", "beam", "limit", "expected"),
    [(1, 1, 1, 2), (16, 1, 16, 2), (17, 1, 16, 3), (16, 4, 17, 9), (50, MAX_BEAM, 50, 132)],
)
def test_pages_needed(n_source: int, beam: int, limit: int, expected: int) -> None:
    assert pages_needed(n_source, beam, limit) == expected


@pytest.mark.parametrize("rule", [None, HuggingFaceRule(), MarianRule(3)], ids=str)
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 10.0])
def test_the_length_normalisation_is_the_references(alpha: float, rule: Rule | None) -> None:
    options = SearchOptions(length_penalty=alpha, rule=rule)
    record = np.array([rule_record(options)], RULE)
    for length in (1, 2, 50, 512):
        assert normalisation(length, record[0]) == np.float32(options.normalisation(length))


def test_a_record_holds_all_traits() -> None:
    rule = HuggingFaceRule("never", force_end=True, renormalise=True)
    record = np.array([rule_record(SearchOptions(length_penalty=0.5, rule=rule))], RULE)[0]
    assert record["alpha"] == 0.5
    assert (record["at_limit"], record["stopping"]) == (ENDED, SETTLED)
    assert (record["renormalises"], record["narrows"]) == (True, False)
    assert record["unk_id"] == NO_TOKEN
    assert np.array([rule_record(SearchOptions(rule=MarianRule(0)))], RULE)[0]["unk_id"] == 0
