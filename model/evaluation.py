"""Translation quality: sacreBLEU's BLEU (Papineni et al. 2002) and chrF (Popović 2015)."""

from collections.abc import Sequence
from typing import TypedDict

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


class Scores(TypedDict):
    """Corpus scores, 0 … 100, with signatures of how they were computed (Post 2018)."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def score_translations(hypotheses: Sequence[str], references: Sequence[str]) -> Scores:
    """Score plain, untokenised text against one reference each."""
    bleu, chrf = BLEU(), CHRF()
    return {  # signatures are known only after a corpus was scored
        "bleu": bleu.corpus_score(hypotheses, [references]).score,
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "bleu_signature": str(bleu.get_signature()),
        "chrf_signature": str(chrf.get_signature()),
    }
