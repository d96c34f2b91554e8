"""The sections of a report, in the order in which every format for people has them.

A section is tables with words around them, and each format draws it from these alone. A format may draw a section in a
way of its own, such as answers and figures, or leave it out. So a new section is one entry of `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..model.finding import Analysis
from ..store import Run
from . import (
    calibrated,
    group_tables,
    kernel_contrasts,
    matrices,
    path_tables,
    rfc,
    rows,
    run_description,
    servers,
    tables,
    validity,
    words,
    worker_tables,
)
from .evidence import EVIDENCE_SECTIONS, BriefTable, EvidenceData, EvidenceSection
from .path_descriptions import PathDescription, path_descriptions
from .tables import Table, left


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """Sources of the sections."""

    run: Run
    analysis: Analysis
    trials: validity.Trials
    paths: Sequence[PathDescription]

    @classmethod
    def of(cls, run: Run, analysis: Analysis) -> ReportData:
        """The data of a run as it was read."""
        return cls(run=run, analysis=analysis, trials=validity.trials(run), paths=path_descriptions(run))

    @property
    def evidence(self) -> EvidenceData:
        """The sources of the sections on evidence."""
        return EvidenceData(
            run=self.run,
            analysis=self.analysis,
            paths=[described.evidence for described in self.paths],
            headers={described.path.name: path_tables.headers(described) for described in self.paths},
        )

    @property
    def confidence(self) -> float:
        """The confidence of all intervals, as a share."""
        return self.run.manifest.experiment.statistics.confidence

    @property
    def warnings(self) -> list[str]:
        """Text before all sections."""
        return [*run_description.warnings(self.run, self.trials), *calibrated.warnings(self.run, self.analysis)]


@dataclass(frozen=True, kw_only=True)
class ReportSection:
    """A section.

    Attributes:
        name: by which formats know the sections that they draw in their own way, and a place in the page.
        part: of `PARTS`, under whose heading it stands in the page.
        tables: those that have rows; none: only formats that have a way of their own show the section.
        brief: the same for narrow pages; None: the tables are narrow enough.
        entries: what the rows of its tables are, for lists that have too many.
        trials: those of which the tables tell.
        about: a sentence or two for those who read the page; empty: the tables tell it all.
        remark: what stands below the tables; empty: nothing.
    """

    name: str
    part: str
    tables: Callable[[ReportData], Sequence[Table | None]] = lambda _: ()
    brief: Callable[[ReportData], BriefTable | Table | None] | None = None
    entries: str = "rows"
    trials: str = ""
    about: str = ""
    remark: Callable[[ReportData], str] = lambda _: ""

    def filled(self, data: ReportData) -> list[Table]:
        return [table for table in self.tables(data) if table is not None and table.rows]


def environment(data: ReportData) -> list[tuple[str, str]]:
    """State of the machine, and the trust in its numbers: names and values."""
    text = calibrated.sentence(data.run, data.analysis)
    return [*run_description.environment_properties(data.run), *([("Calibration", text)] if text is not None else [])]


def _environment(data: ReportData) -> Table:
    columns = left("what", "value")
    names = [[name, value or words.MISSING] for name, value in environment(data)]
    return Table(title="Environment", columns=columns, rows=names)


def _of_evidence(section: EvidenceSection) -> ReportSection:
    """The section on one kind of evidence."""
    brief = section.brief
    return ReportSection(
        name=section.name,
        part="evidence",
        tables=lambda data: [section.table(data.evidence)],
        brief=None if brief is None else (lambda data: brief(data.evidence)),
        entries=section.entries,
        trials=section.trials,
        about=section.about,
        remark=lambda data: section.remark(data.evidence),
    )


PARTS = {
    "answers": "Answers",
    "paper": "The paper",
    "rfc": "Tests by the RFC",
    "paths": "Network and paths",
    "figures": "Figures",
    "values": "Values",
    "findings": "Findings",
    "validity": "Validity",
    "evidence": "Evidence",
    "environment": "Environment",
    "method": "Method",
    "reproduce": "Reproduce",
}
"""The headings of the page."""

SECTIONS: tuple[ReportSection, ...] = (
    ReportSection(
        name="vantage",
        part="answers",
        tables=lambda data: [servers.vantage_table(data.run)],
        entries="ways to servers",
    ),
    ReportSection(name="answers", part="answers"),
    ReportSection(
        name="faults",
        part="answers",
        tables=lambda data: [servers.faults_table(data.run)],
        entries="faults",
    ),
    ReportSection(name="remarks", part="answers"),
    ReportSection(
        name="claims",
        part="paper",
        tables=lambda data: [tables.claims_table(data.analysis.claims)],
        entries="claims",
    ),
    ReportSection(
        name="published",
        part="paper",
        tables=lambda data: [tables.published_table(data.analysis.published, data.confidence)],
        entries="published values",
    ),
    ReportSection(
        name="published-tables",
        part="paper",
        tables=lambda data: [tables.paper_table(table, paired=True) for table in data.analysis.tables],
        entries="rows of the paper's tables",
    ),
    ReportSection(name="rfc-figures", part="rfc"),
    ReportSection(
        name="throughput",
        part="rfc",
        tables=lambda data: [rfc.throughput_table(data.run)],
        entries="throughputs",
        about="The highest rate, in frames a second in each direction, at which losses were within the goal, and the "
        "lowest rate at which they were not. A line carries rate / (8 (X + O + 20)) frames of X bytes, with the "
        "overhead O. The tester's own throughput was measured without a device. A trial in which the tester "
        "itself failed is refused.",
    ),
    ReportSection(
        name="rfc-traffic",
        part="rfc",
        tables=lambda data: [rfc.traffic_table(data.run)],
        entries="throughputs by traffic",
        about=rfc.TRAFFIC_WORDS,
    ),
    ReportSection(
        name="rfc-tests",
        part="rfc",
        tables=lambda data: rfc.result_tables(data.run),
        entries="results of tests",
        about="Values of several trials are their median with the 1st and the 99th percentile, p1 and p99 (RFC 8219), "
        "or their mean (RFC 2544, RFC 5180). Frames/s is the rate at which they were measured. Forward is from "
        "client to server. Delays include the tester's own delay. A trial in which the tester itself failed is "
        "refused.",
    ),
    ReportSection(
        name="conformance",
        part="rfc",
        tables=lambda data: [rfc.conformance_table(data.run)],
        entries="clauses",
    ),
    ReportSection(
        name="paths",
        part="paths",
        tables=lambda data: [path_tables.paths_table(data.paths)],
        entries="paths",
    ),
    ReportSection(
        name="servers",
        part="paths",
        tables=lambda data: [servers.servers_table(data.run), servers.routes_table(data.run)],
        brief=lambda data: servers.brief_table(data.run),
        entries="servers",
        about="All trials of a family go to one address, which was pinned before the first trial. A workload that no "
        "family of a server offers has no trials.",
    ),
    ReportSection(name="figures", part="figures"),
    ReportSection(
        name="values",
        part="values",
        tables=lambda data: matrices.matrices(data.analysis, data.confidence),
        entries="rows of values",
    ),
    ReportSection(
        name="kernels",
        part="findings",
        tables=lambda data: kernel_contrasts.contrast_tables(data.analysis.kernels, data.confidence),
        entries="comparisons of kernels",
        about="A row compares a path on a kernel with the same path on the first kernel. The trials of a block are a "
        "pair, and both values have the weights of the pairs. P-values are adjusted within each metric (Holm).",
    ),
    ReportSection(
        name="groups",
        part="findings",
        tables=lambda data: group_tables.group_tables(data.analysis, data.confidence),
        entries="comparisons of a group",
        about="A row is the same comparison at another level of a factor. Verdicts hold among all comparisons of the "
        "metric (Holm). The mean is that of levels of this kind, measured or not (random effects): its interval allows "
        "for differences between them. I² is the part of the scatter of the changes that is due to such differences.",
    ),
    ReportSection(
        name="findings",
        part="findings",
        tables=lambda data: tables.finding_tables(rows.beside_groups(data.analysis), data.confidence),
        entries="findings",
    ),
    ReportSection(
        name="reasons",
        part="validity",
        tables=lambda data: [tables.reasons_table(data.trials)],
        entries="reasons for trials that do not count",
    ),
    ReportSection(
        name="workers",
        part="validity",
        tables=lambda data: [worker_tables.effects_table(data.analysis.workers, data.confidence)],
        entries="comparisons by worker",
        about="The trials of a pair come from one worker, so differences between machines cancel in a change. A small "
        "p-value means that the change itself depends on the machine (Kruskal and Wallis by permutation, Holm's "
        "adjustment over the table).",
    ),
    ReportSection(name="notes", part="validity"),
    ReportSection(name="noise", part="validity"),
    ReportSection(name="verdicts", part="validity"),
    ReportSection(name="headers", part="evidence"),
    *(_of_evidence(section) for section in EVIDENCE_SECTIONS),
    ReportSection(
        name="programs",
        part="evidence",
        tables=lambda data: [path_tables.programs_table(data.analysis)],
        entries="run times of programs",
        about="The time that a program of the eBPF engine took for each packet or segment, with its confidence "
        "interval over trials. Measuring it adds about 20\u00a0ns to each run of a program.",
    ),
    ReportSection(
        name="machines",
        part="environment",
        tables=lambda data: [worker_tables.machines_table(data.run)],
        entries="workers",
    ),
    ReportSection(
        name="environment", part="environment", tables=lambda data: [_environment(data)], entries="properties"
    ),
    ReportSection(name="method", part="method"),
    ReportSection(name="reproduce", part="reproduce"),
)
