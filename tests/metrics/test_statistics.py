"""Intervals by their textbook values, determinism, and what an interval must always hold."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.metrics.statistics import FEW, mean, proportion, share_of_errors

shares = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
# count <= errors <= questions
errors = st.lists(st.integers(0, 60), min_size=3, max_size=3).map(sorted)


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (0, 10, 0.0, 0.2775),  # z²/(n + z²) = 3.8415/13.8415
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_a_proportion_has_its_wilson_interval(count, n, low, high):
    found = proportion(count, n)
    assert (found.value, found.n) == (count / n, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("n", "few"), [(1, True), (29, True), (30, False), (1000, False)])
def test_under_thirty_is_too_few_to_conclude(n, few):
    assert FEW == 30
    assert proportion(1, n).few is few
    assert mean([0.5] * n).few is few
    assert share_of_errors(1, n, 2000).few is few


def test_nothing_to_compute_from_gives_none():
    assert proportion(0, 0) is None
    assert mean([]) is None
    assert share_of_errors(0, 0, 0) is None
    assert share_of_errors(0, 0, 12) is None


@pytest.mark.parametrize(("count", "n"), [(3, 2), (-1, 2), (1, 0)])
def test_a_count_beyond_its_whole_is_refused(count, n):
    with pytest.raises(ValueError, match="no proportion"):
        proportion(count, n)
    with pytest.raises(ValueError, match="no share"):
        share_of_errors(count, n, 5)


def test_more_errors_than_questions_are_refused():
    with pytest.raises(ValueError, match="no share"):
        share_of_errors(1, 6, 5)


def test_the_bootstrap_of_a_mean_agrees_with_its_standard_error():
    found = mean([0.0] * 200 + [1.0] * 200)  # standard error 0.5 / sqrt(400) = 0.025
    assert (found.value, found.n) == (0.5, 400)
    assert (found.low, found.high) == pytest.approx((0.451, 0.549), abs=0.004)


def test_equal_values_and_a_single_one_are_their_own_interval():
    for values in ([0.3], [0.3] * 7):
        found = mean(values)
        assert (found.value, found.low, found.high, found.n) == (0.3, 0.3, 0.3, len(values))


def test_a_share_of_errors_agrees_with_the_ratio_s_standard_error():
    found = share_of_errors(100, 200, 400)  # about sqrt(0.5 * 0.5 / 200) = 0.0354
    assert (found.value, found.n) == (0.5, 200)
    assert (found.low, found.high) == pytest.approx((0.431, 0.569), abs=0.006)


def test_shares_resample_questions_so_that_rare_errors_widen_the_interval():
    """Of 40 errors on 4000 questions a resample has more or fewer; of 40 on 40 it has 40."""
    few, sure = share_of_errors(20, 40, 4000), share_of_errors(20, 40, 40)
    assert few.high - few.low > sure.high - sure.low


def test_the_seed_decides_and_the_order_does_not():
    draw = random.Random(3)
    values = [draw.random() for _ in range(60)]
    shuffled = random.Random(4).sample(values, len(values))
    assert mean(values, seed=7) == mean(values, seed=7) == mean(shuffled, seed=7)
    assert mean(values, seed=7) != mean(values, seed=8)
    assert share_of_errors(4, 9, 30, seed=7) == share_of_errors(4, 9, 30, seed=7)


@given(shares)
def test_a_proportion_lies_in_its_interval_within_zero_and_one(share):
    found = proportion(*share)
    assert 0 <= found.low <= found.value <= found.high <= 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_a_mean_lies_in_its_interval_within_the_values(values):
    found = mean(values)
    assert found.low <= found.value <= found.high
    assert found.n == len(values)
    assert min(values) - 1e-6 <= found.low
    assert found.high <= max(values) + 1e-6


@settings(max_examples=50, deadline=None)
@given(errors)
def test_a_share_of_errors_lies_in_its_interval(counts):
    found = share_of_errors(*counts)
    if counts[1] == 0:
        assert found is None
    else:
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.n == counts[1]
