"""The tables of a recipe for the update of weights."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Table(BaseModel):
    """A table of a recipe: immutable; unknown keys are rejected, numbers must be finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class OptimizerConfig(Table):
    """`adam` with the paper's settings (§5.3), or `muon` (Jordan et al. 2024) for layers' matrices.

    Muon orthogonalises each matrix's momentum; embeddings, norms and biases use Adam. Its steps
    are scaled to Adam's usual size, so that both share one learning rate.
    """

    kind: Literal["adam", "muon"] = "adam"
    beta_1: float = Field(0.9, ge=0, lt=1)
    beta_2: float = Field(0.98, ge=0, lt=1)
    epsilon: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    vector_rate: float = Field(
        1.0, gt=0, description="learning rate of gains and biases, as a multiple of the others'"
    )
    clip_norm: float = Field(0.0, ge=0, description="maximum gradient norm; 0: no clipping")


class ScheduleConfig(Table):
    """The length of the run, and its learning rate.

    `inverse_sqrt` is equation 3 of the paper, times `peak`: peak · d_model^−½ · min(step^−½,
    step · warmup_steps^−1.5). `trapezoid` rises linearly to `peak` within `warmup_steps`, stays
    constant, and falls linearly to 0 over the last `decay_steps` of `steps`; a run can be extended
    from any point before its decay.
    """

    shape: Literal["inverse_sqrt", "trapezoid"] = "inverse_sqrt"
    peak: float = Field(1.0, gt=0)
    warmup_steps: int = Field(4000, gt=0)
    steps: int = Field(100_000, gt=0, description="total number of updates")
    decay_steps: int = Field(0, ge=0, description="trapezoid only")

    def learning_rate(self, step: int, d_model: int) -> float:
        """Return the rate of update number `step`, counted from 1."""
        if self.shape == "inverse_sqrt":
            warm = step * self.warmup_steps**-1.5
            return float(self.peak * d_model**-0.5 * min(step**-0.5, warm))
        rise = step / self.warmup_steps
        fall = (self.steps + 1 - step) / max(1, self.decay_steps)
        return float(self.peak * max(0.0, min(1.0, rise, fall)))
