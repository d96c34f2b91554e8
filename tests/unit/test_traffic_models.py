"""The datagrams that the agent draws (`vectors/traffic-models.json`) against scipy's distributions.

The agent's own tests hold that these are its datagrams; this one holds that they are what they are called.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytestmark = pytest.mark.computes

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "vectors/traffic-models.json").read_text(encoding="utf-8")
)
SEVERITY = 0.001
"""The seeds are fixed: right draws fail with this probability once, when the vectors are made, and never after."""


def distribution(params: dict[str, Any], what: str, unit: str) -> Any:
    """As scipy has it; None for a constant."""
    mean: float = params.get(f"{what}_mean_{unit}", 0)
    shape: float = params.get(f"{what}_shape", 0)
    match params.get(what, "constant"):
        case "uniform":
            low, high = params[f"{what}_min_{unit}"], params[f"{what}_max_{unit}"]
            return stats.uniform(loc=low, scale=high - low)
        case "exponential":
            return stats.expon(scale=mean)
        case "pareto":
            return stats.pareto(shape, scale=mean * (shape - 1) / shape)
        case "normal":
            return stats.norm(loc=mean, scale=params[f"{what}_stdev_{unit}"])
        case "gamma":
            return stats.gamma(shape, scale=mean / shape)
    return None


def name(vector: dict[str, Any]) -> str:
    return str(vector["params"].get("gaps", "on-off"))


@pytest.mark.parametrize("vector", VECTORS, ids=name)
def test_gaps_are_of_their_distribution(vector: dict[str, Any]) -> None:
    params, gaps_ns = vector["params"], np.diff(vector["due_ns"])
    expected = distribution(params, "gaps", "ns")
    if expected is not None:
        assert stats.kstest(gaps_ns, expected.cdf).pvalue > SEVERITY
    elif "on_ns" not in params:
        assert set(gaps_ns) == {params["gaps_mean_ns"]}
    else:
        # In an on period as the gaps say; between two, longer.
        assert set(gaps_ns[gaps_ns <= params["gaps_mean_ns"]]) == {params["gaps_mean_ns"]}
        assert (gaps_ns > params["gaps_mean_ns"]).sum() > 10


@pytest.mark.parametrize("vector", VECTORS, ids=name)
def test_sizes_are_of_their_distribution(vector: dict[str, Any]) -> None:
    params, sizes_bytes = vector["params"], np.array(vector["payload_bytes"])
    expected = distribution(params, "sizes", "bytes")
    if expected is None:
        assert set(sizes_bytes) == {params["sizes_mean_bytes"]}
        return
    least, most = params.get("sizes_min_bytes", 32), params.get("sizes_max_bytes", 65507)
    # They are whole numbers: each stands for the half byte around it.
    spread = sizes_bytes + np.random.default_rng(1).uniform(-0.5, 0.5, len(sizes_bytes))
    inside = spread[(sizes_bytes > least) & (sizes_bytes < most)]
    low, high = expected.cdf(least + 0.5), expected.cdf(most - 0.5)
    error = (high - low) * (1 - (high - low)) / len(spread)
    assert len(inside) / len(spread) == pytest.approx(high - low, abs=5 * error**0.5 + 1e-3)
    assert stats.kstest(inside, lambda x: (expected.cdf(x) - low) / (high - low)).pvalue > SEVERITY


@pytest.mark.parametrize("vector", VECTORS, ids=name)
def test_sizes_say_nothing_of_gaps(vector: dict[str, Any]) -> None:
    gaps_ns, sizes_bytes = np.diff(vector["due_ns"]), np.array(vector["payload_bytes"][1:])
    if len(set(gaps_ns)) > 1 and len(set(sizes_bytes)) > 1:
        assert stats.spearmanr(gaps_ns, sizes_bytes).pvalue > SEVERITY
        assert stats.spearmanr(gaps_ns[1:], gaps_ns[:-1]).pvalue > SEVERITY
