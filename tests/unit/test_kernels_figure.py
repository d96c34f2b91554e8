"""The figure of kernels beside each other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.model.experiment import Experiment
from sixbench.model.finding import Analysis, Estimate
from sixbench.report.figures import kernels, style
from sixbench.report.figures.data import Context

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]

TEXT = """
kernels: [debian-5.10, debian-6.1]
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv4: native4, ipv6: native6}
workloads: [{udp-rr: {message: [64B, 1KiB], duration: 1s}}]
"""


def estimates(experiment: Experiment, metric: str, unit: str) -> list[Estimate]:
    return [
        Estimate(
            workload="udp-rr",
            metric=metric,
            unit=unit,
            levels=combination.levels,
            combination=combination.name,
            path=path.name,
            n=3,
            value=9000.0 + 100 * index,
            ci_low=8990.0 + 100 * index,
            ci_high=None,
        )
        for index, combination in enumerate(experiment.combinations)
        for path in experiment.paths
    ]


def test_each_path_has_a_line_over_the_kernels_and_each_size_a_panel(read: Read) -> None:
    experiment = read(TEXT)
    shown = [
        *estimates(experiment, "rtt_p50", "ns"),
        *estimates(experiment, "instructions_per_packet", "instructions"),
    ]
    [drawing] = kernels.drawings(Context.of(experiment), Analysis(estimates=shown, findings=[]))
    assert drawing.name == "udp-rr-by-kernel"
    picture = drawing.draw(style.WIDTH_IN)
    assert len(picture.figure.axes) == 2
    for axes in picture.figure.axes:
        assert [label.get_text() for label in axes.get_xticklabels()] == ["5.10", "6.1"]
        assert not [line for line in axes.lines if line.get_linestyle() != "None"]  # nothing between two kernels
    tips = [tip for line in picture.tips.values() for tip in line]
    assert len(tips) == 8
    assert any("debian-6.1" in tip and "9" in tip for tip in tips)


def test_without_packets_it_shows_what_the_workload_is_there_to_measure(read: Read) -> None:
    experiment = read(TEXT)
    analysis = Analysis(estimates=estimates(experiment, "rtt_p50", "ns"), findings=[])
    [drawing] = kernels.drawings(Context.of(experiment), analysis)
    assert "round-trip time" in drawing.title.lower()


def test_one_kernel_has_no_such_figure(read: Read) -> None:
    experiment = read(TEXT.replace("[debian-5.10, debian-6.1]", "debian-6.1"))
    analysis = Analysis(estimates=estimates(experiment, "rtt_p50", "ns"), findings=[])
    assert kernels.drawings(Context.of(experiment), analysis) == []
