"""The E-model against values that ITU-T G.107 and G.113 print."""

from __future__ import annotations

import pytest

from sixbench.model.e_model import CodecImpairments, effective_ie, mos_cqe, r_factor

pytestmark = pytest.mark.computes

NOTHING = CodecImpairments(ie=0, bpl=1)
G729A_VAD = CodecImpairments(ie=11, bpl=19)


def test_all_defaults_are_the_recommendations_r() -> None:
    """G.107 section 7.7: "the calculation results in a very high quality with a rating factor of R = 93.2"."""
    assert r_factor(0, 0, NOTHING) == pytest.approx(93.2, abs=0.05)


@pytest.mark.parametrize(("r", "mos"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58), (100, 4.5), (0, 1)])
def test_mos_of_r(r: float, mos: float) -> None:
    """G.107 Annex B Table B.1, which rounds up."""
    assert mos_cqe(r) == pytest.approx(mos, abs=0.0065)


def test_mos_has_its_bounds() -> None:
    assert (mos_cqe(-20), mos_cqe(120)) == (1.0, 4.5)
    assert min(mos_cqe(tenth / 10) for tenth in range(1000)) == 1.0


@pytest.mark.parametrize(
    ("loss_percent", "ie"), [(0, 11), (0.5, 13), (1, 15), (1.5, 17), (2, 19), (3, 23), (4, 26), (8, 36), (16, 49)]
)
def test_loss_of_g729a(loss_percent: float, ie: float) -> None:
    """G.113 Appendix I, Ie of G.729A with VAD under random loss, from which Bpl was derived."""
    assert effective_ie(loss_percent, G729A_VAD) == pytest.approx(ie, abs=0.6)


def test_delay_costs_little_under_150_ms_and_much_above() -> None:
    """G.107 Figure 1 and G.114: R falls slowly to about 150 ms and steeply from 177 ms on."""
    r = {delay_ms: r_factor(delay_ms, 0, NOTHING) for delay_ms in (0, 100, 150, 200, 300, 400)}
    assert r[0] - r[150] < 5
    assert r[200] - r[300] > 10
    assert list(r.values()) == sorted(r.values(), reverse=True)


def test_loss_and_delay_add_up() -> None:
    both = r_factor(0, 0, NOTHING) - r_factor(250, 3, G729A_VAD)
    assert both == pytest.approx(r_factor(0, 0, NOTHING) - r_factor(250, 0, NOTHING) + effective_ie(3, G729A_VAD))
