import pytest

from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import SearchOptions
from model.engine.jobs import check_job, check_pair
from model.engine.protocol import Job
from model.transformer.config import TransformerConfig

CONFIG = TransformerConfig(
    d_model=8, d_ff=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1,
    source_vocab_size=9, target_vocab_size=12, max_length=9, share_embeddings=False,
)  # fmt: skip
TERM, ENDED, PADDED = (Constraint((Wording(ids),)) for ids in ((3, 12), (3, 1), (0, 3)))


@pytest.mark.parametrize(
    ("source", "options", "named"),
    [
        ((), SearchOptions(), "0 source tokens: 1 … 9"),
        ((3,) * 10, SearchOptions(), "10 source tokens: 1 … 9"),
        ((3, 9), SearchOptions(), "a source id outside the vocabulary of 9"),
        ((-1, 3), SearchOptions(), "a source id outside the vocabulary of 9"),
        ((3,), SearchOptions(first_id=12), "a target id outside the vocabulary of 12"),
        ((3,), SearchOptions(constraints=(TERM,)), "a target id outside the vocabulary of 12"),
        ((3,), SearchOptions(constraints=(ENDED,)), "a term with <pad> or the end of sentence"),
        ((3,), SearchOptions(constraints=(PADDED,)), "a term with <pad> or the end of sentence"),
    ],
)
def test_bad_ids_of_jobs_are_refused(
    source: tuple[int, ...], options: SearchOptions, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        check_job(Job(0, source, options), CONFIG)


@pytest.mark.parametrize(
    ("source", "target", "named"),
    [
        ((), (3,), "0 source tokens"),
        ((3,), (), "0 target tokens: 1 … 9"),
        ((3,), (3,) * 10, "10 target tokens"),
        ((9,), (3,), "a source id outside"),
        ((3,), (12,), "a target id outside the vocabulary of 12"),
    ],
)
def test_bad_ids_of_pairs(source: tuple[int, ...], target: tuple[int, ...], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        check_pair(source, target, CONFIG)


def test_ids_of_the_vocabularies_are_accepted() -> None:
    check_job(Job(0, (0, 8) * 4, SearchOptions(first_id=11)), CONFIG)
    check_pair((0, 8), (0, 11), CONFIG)
