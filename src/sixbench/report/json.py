"""The report for programs: one JSON object.

::

    schema          `sixbench.findings/3`; fields are only ever added under the same number
    experiment      its name
    run             name of the run
    title, state, paper, quick, baseline, confidence, margin, seed, started_realtime_ns
    findings        one object a comparison; see `model.finding.FINDING_KEYS`
    estimates       one object a path's own value: workload, metric, unit, levels, combination, path, n, value, ci_low,
                    ci_high, theory
    claims          claim, text, source, verdict, reason, evidence
    published       source, what, published, unit, ours, ours_low, ours_high, note
    clock           `real`, or `virtual`: then units of times say so (`virtual ns`), and CPU time a packet and a byte
                    are told in instructions
    paper_tables    name, title, note, columns (heading, unit, role, is_compared), rows, ours: tables of the paper in
                    its own columns and units, each row a list of numbers
    paths           one object a path: name, mechanism, family, nodes, options, engines, baseline (whether it is),
                    aa_of, client, client_seen, server (addresses), headers (where there are most, outermost first),
                    links (link, near, far, headers), tunnels (node, device, local, mtu_bytes: list), install_ns: list
    evidence        one object a path: path, trials, are_valid (false: no trial is, and these are all), middle (the link
                    that tells most), families, links (link, node, interface, claimed, seen, outer, errors, captured,
                    not_captured, max_ip_bytes, stacks), packets (links, layers, payload_bytes), tunnels (node, device,
                    trials, encapsulated, decapsulated, slow_encapsulated, slow_decapsulated, slow and drops by reason,
                    each as packets and bytes), losses (places: where, what, datagrams, other_packets, trials; not_told)
    trials          planned, total, ok, invalid, failed, reasons (status, reason, count, paths, workloads, keys)
    remarks         sentences
    rfc             of a run of `sixbench rfc`: profile, tests, quick, traffics, is_partial (whether only the throughput
                    was repeated over them), throughput (path, frame_bytes, traffic, is_tester, goal, loss_ratio,
                    lower_pps, upper_pps, line_pps, tester_pps, is_testers: whether the tester was the limit,
                    is_settled: whether the search came to its end, refused_pps, trials, refused, refused_why, failed),
                    results of the other tests (test, path, frame_bytes, traffic, rate_pps, what, unit, value, p1 and
                    p99: percentiles over trials, is_testers, trials, refused, failed, remark), conformance (section,
                    asks, state, reason); null: it is another run
    cells           of a run that cells measured: machines (name, kernel, cpu, cores, blocks, trials), by_cell
                    (workload, metric, unit, levels, combination, path, baseline, p_value, cells: cell, n, ratio,
                    difference, ci_low, ci_high), apart (how many trials came late or twice); null: it was one machine
    kernels         of a run on several kernels: one object a path on a kernel against the same path on the first
                    kernel: the fields of `model.finding.KernelContrast`, and its `mark`; empty: it was one kernel
    groups          only of a run whose statistics pool a factor: one object a headline metric, path and combination of
                    the other levels: the fields of `model.comparison_group.ComparisonGroup`, counts (by outcome), and
                    sentences (the same in words). Members name their finding by its combination
    calibration     of the machine, when the run began: realtime_ns, quick, ranges (metric, label, path, workload,
                    vouches, column, low, high, least, greatest, uncertainty, scale), false_alarms, outside (sentences
                    about results that lie outside); null: none

Every key is always there. What is not known is null, never 0 and never absent: a `ratio` of null means that path and
baseline are compared by `difference`, and then `ci_low` and `ci_high` are of the difference; both null where nothing
was compared. Values are in the base unit that `unit` names (bit/s, ns, 1/s, cores, and 1 for shares). `levels` are by
column, with the unit in its name.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from ..analysis.clock import clock_of
from ..model.comparison_group import ComparisonGroup
from ..model.finding import FINDINGS_SCHEMA, Analysis
from ..model.json_object import JsonObject
from ..store import Run
from . import calibrated, group_words, rfc, validity, words
from .path_descriptions import PathDescription, path_descriptions


def render(run: Run, analysis: Analysis) -> str:
    """The object, indented, with a line end."""
    return json.dumps(document(run, analysis), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def document(run: Run, analysis: Analysis) -> JsonObject:
    """The object itself."""
    manifest, experiment = run.manifest, run.manifest.experiment
    paths = path_descriptions(run)
    return {
        "schema": FINDINGS_SCHEMA,
        "experiment": experiment.name,
        "run": manifest.run,
        "title": experiment.title,
        "state": manifest.state,
        "paper": manifest.paper,
        "quick": manifest.quick,
        "baseline": experiment.baseline,
        "confidence": experiment.statistics.confidence,
        "margin": experiment.statistics.margin,
        **({"margins": experiment.statistics.margins} if experiment.statistics.margins else {}),
        "seed": experiment.seed,
        "started_realtime_ns": manifest.started_realtime_ns,
        "clock": clock_of(run).kind,
        "findings": [_plain(asdict(finding) | {"mark": finding.mark}) for finding in analysis.findings],
        "estimates": [_plain(asdict(estimate)) for estimate in analysis.estimates],
        "claims": [_plain(asdict(claim)) for claim in analysis.claims],
        "published": [_plain(asdict(item)) for item in analysis.published],
        "paper_tables": [_plain_table(asdict(table)) for table in analysis.tables],
        "paths": [_path(described, experiment.baseline) for described in paths],
        "evidence": [described.evidence.to_json() for described in paths],
        "trials": _trials(validity.trials(run)),
        "remarks": [*analysis.remarks, *analysis.notes],
        "rfc": rfc.document(run),
        "workers": _workers(run, analysis),
        **(
            {"groups": [_group(group, experiment.statistics.confidence) for group in analysis.groups]}
            if analysis.groups
            else {}
        ),
        "kernels": [_plain(asdict(contrast) | {"mark": contrast.mark}) for contrast in analysis.kernels],
        "calibration": _calibration(run, analysis),
    }


def _workers(run: Run, analysis: Analysis) -> JsonObject | None:
    if not run.manifest.workers:
        return None
    by_worker = [_plain(asdict(effect)) for effect in analysis.workers]
    for effect in by_worker:
        effect["workers"] = [_plain(value) for value in effect["workers"]]
    machines = []
    for name, worker in run.manifest.workers.items():
        records = [trial for trial in run.trials if trial.worker == name]
        machines.append(
            {
                "name": name,
                "kernel": worker.environment.kernel,
                "cpu": worker.environment.cpu,
                "cores": worker.environment.cores,
                "blocks": len({trial.block for trial in records}),
                "trials": len(records),
            }
        )
    return {"machines": machines, "by_worker": by_worker, "apart": run.manifest.apart}


def _calibration(run: Run, analysis: Analysis) -> JsonObject | None:
    known = run.manifest.calibration
    if known is None:
        return None
    data = asdict(known)
    del data["machine"], data["kernel"]
    return {**data, "outside": calibrated.warnings(run, analysis)}


def _group(group: ComparisonGroup, confidence: float) -> JsonObject:
    data = asdict(group)
    data["pooled"] = None if group.pooled is None else _plain(asdict(group.pooled))
    return {**data, "counts": group.counts, "sentences": group_words.sentences(group, confidence)}


def _trials(trials: validity.Trials) -> JsonObject:
    counts = asdict(trials)
    counts["reasons"] = [
        {"reason" if key == "text" else key: value for key, value in reason.items()} for reason in counts["reasons"]
    ]
    return counts


def _path(described: PathDescription, baseline: str) -> JsonObject:
    path, route = described.path, described.route
    legs = None if route is None else route.network.legs
    return {
        "name": path.name,
        "mechanism": path.mechanism,
        "family": path.family,
        "nodes": list(path.nodes),
        "options": path.options,
        "engines": described.engines,
        "baseline": path.name == baseline,
        "aa_of": path.aa_of,
        "client": None if legs is None else str(legs[0].source),
        "client_seen": None if legs is None else str(legs[-1].source),
        "server": None if legs is None else str(legs[0].destination),
        "headers": None if route is None else list(route.deepest.headers),
        "links": [
            {"link": link.name, "near": near, "far": far, "headers": list(stretch.headers)}
            for stretch in (route.stretches if route is not None else ())
            for link, near, far in zip(stretch.links, stretch.nodes, stretch.nodes[1:], strict=False)
        ],
        "tunnels": [asdict(tunnel) for tunnel in described.tunnels],
        "install_ns": described.install_ns,
    }


def _plain_table(data: JsonObject) -> JsonObject:
    for key in ("rows", "ours"):
        data[key] = [[words.finite(cell) for cell in row] for row in data[key]]
    return data


def _plain(data: JsonObject) -> JsonObject:
    """Without NaN and infinity, which are not JSON and no values."""
    return {key: words.finite(value) if isinstance(value, float) else value for key, value in data.items()}
