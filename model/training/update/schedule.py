"""Learning rate schedules."""

from __future__ import annotations

from model.training.update.config import ScheduleConfig


def learning_rate(step: int, schedule: ScheduleConfig, d_model: int) -> float:
    """Return the rate of update number `step`, counted from 1.

    `inverse_sqrt` is equation 3 of the paper, times `peak`: peak · d_model^−½ · min(step^−½,
    step · warmup_steps^−1.5). `trapezoid` rises linearly to `peak` within `warmup_steps`, stays
    constant, and falls linearly to 0 over the last `decay_steps` of `steps`; a run can be extended
    from any point before its decay.
    """
    if schedule.shape == "inverse_sqrt":
        warm = step * schedule.warmup_steps**-1.5
        return float(schedule.peak * d_model**-0.5 * min(step**-0.5, warm))
    rise = step / schedule.warmup_steps
    fall = (schedule.steps + 1 - step) / max(1, schedule.decay_steps)
    return float(schedule.peak * max(0.0, min(1.0, rise, fall)))
