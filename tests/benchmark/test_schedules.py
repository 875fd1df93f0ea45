"""Schedules: what rate a step has."""

import math

import pytest
from formalbench.training.configs import (
    ConstantConfig,
    CosineConfig,
    InverseSqrtConfig,
    LinearConfig,
    PlateauConfig,
)
from formalbench.training.optimisers import (
    ConstantSchedule,
    CosineSchedule,
    InverseSqrtSchedule,
    LinearSchedule,
    PlateauSchedule,
)


def rates(schedule, steps=100):
    return [schedule.rate(step, steps, 2.0, {}) for step in range(steps)]


def test_constant_is_the_rate_itself():
    assert set(rates(ConstantSchedule(ConstantConfig()))) == {2.0}
    warm = rates(ConstantSchedule(ConstantConfig(warm_up=4)))
    assert warm[:6] == [0.5, 1.0, 1.5, 2.0, 2.0, 2.0]


def test_linear_ends_with_its_final_share():
    found = rates(LinearSchedule(LinearConfig(warm_up=20, final=0.1)))
    assert found[:20] == pytest.approx([2.0 * step / 20 for step in range(1, 21)])
    assert found[59] == pytest.approx(2.0 * 0.55)
    assert found[99] == pytest.approx(0.2)


def test_cosine_falls_along_half_a_wave():
    found = rates(CosineSchedule(CosineConfig(final=0.5)))
    assert found[49] == pytest.approx(1.5)
    assert found[24] == pytest.approx(1.0 + (1 + math.cos(math.pi / 4)) / 2)
    assert found[99] == pytest.approx(1.0)
    assert found == sorted(found, reverse=True)


def test_inverse_sqrt_halves_after_four_times_the_warm_up():
    found = rates(InverseSqrtSchedule(InverseSqrtConfig(warm_up=25)))
    assert found[24] == max(found) == 2.0
    assert found[99] == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [(LinearSchedule, LinearConfig), (CosineSchedule, CosineConfig)])
def test_a_warm_up_longer_than_the_training(kind):
    schedule, config = kind
    found = rates(schedule(config(warm_up=1000)), steps=10)
    assert all(0.0 <= rate <= 2.0 for rate in found)


def heard(config, values):
    schedule, memory, found = PlateauSchedule(config), {}, []
    for value in values:
        schedule.evaluated(memory, {"validation/cross-entropy": value, "train/error": 0.0})
        found.append(schedule.rate(0, 10, 1.0, memory))
    return found


def test_plateau_waits_and_then_falls_to_its_final_share():
    config = PlateauConfig(factor=0.1, patience=1, final=0.01)
    assert heard(config, [1.0, 0.9, 0.9, 0.9, 0.8]) == pytest.approx([1, 1, 1, 0.1, 0.1])
    assert heard(config, [1.0] * 8)[-1] == pytest.approx(0.01)


def test_plateau_may_want_more_of_a_metric():
    config = PlateauConfig(better="more", patience=0)
    assert heard(config, [0.5, 0.6, 0.6]) == [1.0, 1.0, 0.5]


def test_plateau_falls_where_a_value_is_worse_than_each_of_those_before_it():
    config = PlateauConfig(better="more", recent=3, factor=0.8, threshold=0.0, final=0.7)
    # The fourth is no worse than the third, the fifth than the second; the sixth is.
    assert heard(config, [0.9, 0.4, 0.6, 0.6, 0.5, 0.49]) == [1, 1, 1, 1, 1, 0.8]
    assert heard(config, [0.9, 0.8, 0.7, 0.6, 0.5]) == [1, 1, 1, 0.8, 0.7]
    # Not the best ever, yet as good as one of the three before: it does not fall.
    assert heard(config, [0.9] + [0.5] * 9) == [1.0] * 10
    assert heard(config, [0.9, 0.8, 0.7]) == [1.0] * 3


def test_plateau_hears_only_of_its_metric():
    schedule, memory = PlateauSchedule(PlateauConfig(patience=0)), {}
    for _ in range(3):
        schedule.evaluated(memory, {"train/error": 0.5})
    assert memory == {}
