from math import comb

import pytest

from sixbench.stats import clopper_pearson, wilson

pytestmark = pytest.mark.computes


def test_wilson_as_brown_cai_and_dasgupta_have_it():
    # k = 0 of 10: z^2 / (n + z^2).
    assert wilson(0, 10) == (0.0, pytest.approx(3.841459 / 13.841459, rel=1e-6))
    low, high = wilson(50, 100)
    assert (low, high) == (pytest.approx(0.403832, abs=1e-6), pytest.approx(0.596168, abs=1e-6))


def test_clopper_pearson_is_exact():
    low, high = clopper_pearson(0, 10)
    assert (low, high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 10)))
    low, high = clopper_pearson(3, 20)

    def tail(p, ks):
        return sum(comb(20, k) * p**k * (1 - p) ** (20 - k) for k in ks)

    assert tail(low, range(3, 21)) == pytest.approx(0.025)
    assert tail(high, range(4)) == pytest.approx(0.025)


@pytest.mark.parametrize("share", [0.002, 0.01, 0.1])
def test_wilson_covers_what_it_says(share):
    n = 2000
    covered = sum(chance for k, chance in enumerate(_binomial(n, share)) if wilson(k, n)[0] <= share <= wilson(k, n)[1])
    assert 0.93 <= covered <= 0.97


def test_fewer_effective_packets_make_a_wider_interval():
    narrow, wide = wilson(10, 1000), wilson(10, 1000, dispersion=2.0)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize(("k", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_what_is_no_proportion_is_refused(k, n):
    for interval in (wilson, clopper_pearson):
        with pytest.raises(ValueError, match="is not a proportion"):
            interval(k, n)


def _binomial(n, p):
    chance = (1 - p) ** n
    chances = [chance]
    for k in range(n):
        chance *= (n - k) / (k + 1) * p / (1 - p)
        chances.append(chance)
    return chances
