"""`vectors/softwires` with the agent that is installed: what an lwAFTR does with each packet (RFC 7596)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sixbench.agent import find_agent
from sixbench.translate.process import MechanismProcess

VECTORS = sorted((Path(__file__).parents[2] / "vectors" / "softwires").glob("*.json"))


def with_device(tunnel: dict[str, Any]) -> dict[str, Any]:
    return {"device": "t", "underlay": ["u"], **tunnel}


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_vector_has_its_outcome(path: Path) -> None:
    vector = json.loads(path.read_text())
    softwire = vector["softwire"]
    line = {
        "mechanism": "tunnel",
        "tunnel": with_device(softwire["tunnel"]),
        "others": [with_device(tunnel) for tunnel in softwire["others"]],
        "node": softwire["node"],
    }
    before = [bytes.fromhex(item["packet"]) for item in vector.get("before", [])]
    with MechanismProcess(find_agent(), line) as mechanism:
        [*_, result] = mechanism.carry([(0, packet) for packet in [*before, bytes.fromhex(vector["packet"])]])
        waits = mechanism.finish()
    assert (result.verdict, result.reason) == (vector["verdict"], vector["reason"])
    assert [packet.hex() for packet in result.packets] == vector["packets"]
    assert result.words.endswith(".")
    assert waits == (vector["reason"] in ("fragment-held", "overlapping-fragment"))
