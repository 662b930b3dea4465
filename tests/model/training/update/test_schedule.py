import pytest

from model.training.update.optimizer import ScheduleConfig


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1, 512**-0.5 * 4000**-1.5),
        (2000, 512**-0.5 * 2000 * 4000**-1.5),
        (4000, 0.000_698_771_2),  # the paper's peak: (512 · 4000)^−½
        (16_000, 0.000_698_771_2 / 2),
        (100_000, 512**-0.5 * 100_000**-0.5),
    ],
)
def test_default_is_equation_3(step: int, expected: float) -> None:
    assert ScheduleConfig().learning_rate(step, 512) == pytest.approx(expected, rel=1e-6)


def test_peak_scales_equation_3() -> None:
    doubled = ScheduleConfig(peak=2.0).learning_rate(123, 512)
    assert doubled == pytest.approx(2 * ScheduleConfig().learning_rate(123, 512))


@pytest.mark.parametrize(
    ("step", "expected"),
    [(1, 0.1), (5, 0.5), (10, 1.0), (11, 1.0), (80, 1.0), (81, 1.0), (82, 0.95), (91, 0.5),
     (100, 0.05), (101, 0.0), (500, 0.0)],
)  # fmt: skip
def test_trapezoid(step: int, expected: float) -> None:
    schedule = ScheduleConfig(
        shape="trapezoid", peak=1.0, warmup_steps=10, steps=100, decay_steps=20
    )
    assert schedule.learning_rate(step, 512) == pytest.approx(expected)


def test_trapezoid_without_decay_stays_at_its_peak() -> None:
    schedule = ScheduleConfig(shape="trapezoid", peak=0.5, warmup_steps=2, steps=9)
    assert [schedule.learning_rate(step, 8) for step in (1, 2, 9)] == [0.25, 0.5, 0.5]


def test_prolonging_a_trapezoid_changes_no_step_before_its_decay() -> None:
    short, long = (
        ScheduleConfig(shape="trapezoid", warmup_steps=10, steps=steps, decay_steps=20)
        for steps in (100, 300)
    )
    for step in range(1, 81):
        assert short.learning_rate(step, 64) == long.learning_rate(step, 64)
