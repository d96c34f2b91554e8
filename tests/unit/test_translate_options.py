"""Options of `sixbench translate` that experiments have too: they are declared once, as the mechanism's parameter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sixbench.mechanisms.common import ECN, PMTU, TTL
from sixbench.mechanisms.mapdomain import EA_BITS
from sixbench.mechanisms.sixtofour import PRIVATE
from sixbench.mechanisms.translating import LOWEST_IPV6_MTU, PREFIX
from sixbench.translate.kind import PacketMechanism
from sixbench.translate.mechanisms import PACKET_MECHANISMS
from sixbench.translate.option import option_of, value_of
from sixbench.translate.readers import TextReader

pytestmark = pytest.mark.computes

NODES_OF_A_TOPOLOGY = "name"
"""The kind of a parameter that names a node, where packets have an address."""
ROW_BY_ROW = "eam"
"""An experiment has a table of mappings, and packets an option for each row, which may overlap."""


@pytest.mark.parametrize("mechanism", PACKET_MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_an_option_that_experiments_have_too_is_their_parameter(mechanism: PacketMechanism) -> None:
    wrong = []
    for option in mechanism.options:
        parameter = mechanism.mechanism.option(option.name)
        if parameter is None or parameter.kind in (NODES_OF_A_TOPOLOGY, ROW_BY_ROW):
            continue
        used = option.parameter
        if used is None or (used.name, used.column, used.kind) != (parameter.name, parameter.column, parameter.kind):
            wrong.append(option.name)
    assert wrong == []


def test_an_option_has_text_default_and_bounds_of_its_parameter() -> None:
    option = option_of(TTL)
    assert (option.name, option.placeholder, option.is_required) == ("ttl", "N", False)
    assert option.help == "TTL or hop limit of outer packets; 0: the inner packet's; default: 64."
    assert isinstance(option.read, TextReader)
    assert option.read("255") == 255
    with pytest.raises(ValueError, match='"256" is not a number from 0 to 255'):
        option.read("256")


def test_a_default_is_told_only_where_it_holds() -> None:
    assert option_of(EA_BITS, is_required=True).help.endswith("then the PSID.")
    assert option_of(PREFIX, is_repeated=True, note="More.").help.endswith("96 bits; may be repeated. More.")
    assert option_of(replace(PREFIX, doc="a prefix"), has_default=False).help == "A prefix."


def test_a_flag_is_an_order_in_the_direction_that_is_not_the_default() -> None:
    assert option_of(PRIVATE).help.startswith("Take private IPv4 addresses")
    assert (option_of(PRIVATE).turns_off, option_of(PRIVATE).read) == (False, None)
    assert option_of(ECN).help == "Do not let ECN pass through the tunnel (RFC 6040)."
    assert option_of(ECN).turns_off


def test_choices_and_sizes_have_the_words_of_their_kind() -> None:
    assert option_of(PMTU).placeholder == "static|dynamic"
    assert option_of(PMTU).help.startswith("static: ")  # a value stays as it is written
    assert option_of(LOWEST_IPV6_MTU).placeholder == "BYTES"


def test_a_value_that_is_not_given_is_the_parameters_default() -> None:
    assert (value_of({}, TTL), value_of({"ttl": 3}, TTL), value_of({"ecn": False}, ECN)) == (64, 3, False)
