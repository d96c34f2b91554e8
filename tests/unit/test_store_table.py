"""The table of trials of a run."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from stored import record

from sixbench.model.reason import Reason, ReasonKind
from sixbench.store import Manifest
from sixbench.store.table import trials_parquet

pytestmark = pytest.mark.computes


def test_the_table_of_trials_tells_reasons_and_their_kinds(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    wrong = [Reason(kind=ReasonKind.LEDGER, text="a"), Reason(kind=ReasonKind.CLOCK_STEP, text="b")]
    content = trials_parquet([record(), record(status="invalid", reasons=wrong)], manifest)
    table = pq.read_table(io.BytesIO(content))
    assert table["reasons"].to_pylist() == [None, "a; b"]
    assert table["reason_kinds"].to_pylist() == [None, "ledger clock-step"]


def test_the_table_of_trials_names_the_runs_that_measured_meanwhile(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    trials = [record(other_runs=others) for others in (None, [], ["quickstart"], ["a", "b"])]
    table = pq.read_table(io.BytesIO(trials_parquet(trials, manifest)))
    assert table["other_runs"].to_pylist() == [None, "", "quickstart", "a b"]


def test_columns_that_some_trials_lack_are_null_there(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    given: list[dict[str, float]] = [{}, {"goodput_bps": 1.0}, {"rtt_p50_ns": 2.0}, {}]
    table = pq.read_table(io.BytesIO(trials_parquet([record(metrics=given_item) for given_item in given], manifest)))
    assert table["goodput_bps"].to_pylist() == [None, 1.0, None, None]
    assert table["rtt_p50_ns"].to_pylist() == [None, None, 2.0, None]


def test_the_table_of_trials_says_what_it_is_and_the_units_of_its_columns(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    trial = replace(
        record(),
        params={"message_bytes": 64, "rate_bps": 10**6},
        levels={"link_mtu_bytes": 1500, "clamp": "yes"},
        metrics={"goodput_bps": 1e6, "loss_ratio": 0.5, "rtt_p50_ns": 1e6},
        theory={"goodput_bps": 1e6},
    )
    schema = pq.read_schema(io.BytesIO(trials_parquet([trial], manifest)))
    about = {key.decode(): value.decode() for key, value in schema.metadata.items() if key.startswith(b"sixbench.")}
    assert about["sixbench.schema"] == "sixbench.trials/2"
    assert about["sixbench.run"] == manifest.run
    assert about["sixbench.experiment"] == manifest.experiment.name
    assert about["sixbench.seed"] == str(manifest.experiment.seed)
    assert about["sixbench.clock"] == "real"
    units = {field.name: field.metadata[b"unit"].decode() for field in schema if field.metadata}
    assert units == {
        "started_realtime_ns": "ns",
        "elapsed_ns": "ns",
        "time_of_day_ns": "ns",
        "param_message_bytes": "B",
        "param_rate_bps": "bit/s",
        "level_link_mtu_bytes": "B",
        "goodput_bps": "bit/s",
        "loss_ratio": "1",
        "rtt_p50_ns": "ns",
        "theory_goodput_bps": "bit/s",
    }


def test_the_time_of_day_is_a_column(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    day_ns, time_ns = 86_400 * 10**9, (13 * 3600 + 37 * 60) * 10**9 + 5
    trial = replace(record(), started_realtime_ns=20_000 * day_ns + time_ns)
    assert pq.read_table(io.BytesIO(trials_parquet([trial], manifest)))["time_of_day_ns"].to_pylist() == [time_ns]


def test_units_of_a_virtual_clock_say_so(manifest: Manifest) -> None:
    import pyarrow.parquet as pq

    virtual = replace(manifest, environment=replace(manifest.environment, clock="virtual"))
    trial = replace(record(), metrics={"rtt_p50_ns": 1e6, "loss_ratio": 0.0})
    schema = pq.read_schema(io.BytesIO(trials_parquet([trial], virtual)))
    assert schema.field("rtt_p50_ns").metadata[b"unit"] == b"virtual ns"
    assert schema.field("loss_ratio").metadata[b"unit"] == b"1"
