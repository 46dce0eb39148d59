"""Two systems on the same questions: exact p-values by hand, wins and losses, Holm's adjustment."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.metrics.paired import holm, mcnemar_exact, paired, paired_difference

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [
        (8, 2, 0.109375),  # 2 * (1 + 10 + 45) / 1024
        (2, 8, 0.109375),
        (5, 0, 0.0625),  # 2 / 32
        (6, 0, 0.03125),
        (1, 1, 1.0),
        (0, 0, 1.0),
    ],
)
def test_mcnemar_is_the_exact_two_sided_test_of_the_discordant_pairs(wins, losses, p):
    assert mcnemar_exact(wins, losses) == pytest.approx(p)


def test_a_negative_count_is_refused():
    with pytest.raises(ValueError, match="0 or more"):
        mcnemar_exact(-1, 3)


def test_holm_steps_down_and_keeps_the_order():
    # sorted: .01 * 4 = .04, .03 * 3 = .09, .04 * 2 = .08 raised to .09, .5
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([0.02]) == pytest.approx([0.02])
    assert holm([]) == []


def test_wins_losses_and_ties_are_of_the_first():
    first, second = [True] * 5 + [False] * 3 + [True] * 2, [False] * 5 + [True] + [False] * 2 + [True] * 2
    found = paired(first, second)
    assert (found.wins, found.losses, found.ties, found.both) == (5, 1, 4, 2)
    assert found.difference.value == pytest.approx(0.4)
    assert (found.difference.n, found.difference.few) == (10, True)
    assert found.p == pytest.approx(0.21875)  # 2 * (1 + 6) / 64


def test_pairs_are_resampled_and_not_sides():
    """A system against itself differs by exactly nothing, however its own figure varies."""
    values = [0.0, 1.0] * 20
    found = paired_difference(values, values)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)


def test_no_question_gives_none_and_different_questions_are_refused():
    assert paired([], []) is None
    assert paired_difference([], []) is None
    with pytest.raises(ValueError, match="argument 2"):
        paired([True], [])


@settings(max_examples=25, deadline=None)
@given(pairs)
def test_changing_sides_mirrors_the_comparison(outcomes):
    first, second = [list(side) for side in zip(*outcomes, strict=True)]
    there, back = paired(first, second), paired(second, first)
    assert (there.wins, there.losses, there.ties, there.p) == (back.losses, back.wins, back.ties, back.p)
    assert there.difference.value == pytest.approx(-back.difference.value)
    assert there.wins + there.losses + there.ties == there.difference.n == len(outcomes)
    assert there.difference.low <= there.difference.value <= there.difference.high
