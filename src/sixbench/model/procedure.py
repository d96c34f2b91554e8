"""The procedure of a run that tests by an RFC: its trials follow from one another, and are no repetitions."""

from __future__ import annotations

from dataclasses import dataclass

PROFILES = ("2544", "5180", "8219", "9693")
"""The RFCs whose rules there are, by number."""

TEST_LEVEL = "rfc_test"
"""The level of a combination that says which test it belongs to."""

TRAFFIC_LEVEL = "rfc_traffic"
"""The level that says what its frames are like; a combination without it has plain frames."""


@dataclass(frozen=True, kw_only=True)
class Procedure:
    """The tested equipment and the rules of the tests.

    Attributes:
        profile: the RFC's number, such as `8219`.
        tests: names of the tests.
        quick: whether trials are shorter than the RFC asks for.
        testers: the paths that have no device: what is measured over them is the tester's own limit.
        left_out: frame sizes (bytes) of the profile that were not tested, and why.
        traffics: the frames besides plain ones over which the tests are repeated, by name.
        traffics_left_out: those of the profile that were not asked for because of what the device is, and why.
        is_partial: whether only the throughput is repeated over them, at one frame size.
    """

    profile: str
    tests: tuple[str, ...]
    quick: bool = False
    testers: tuple[str, ...] = ()
    left_out: dict[int, str] | None = None
    traffics: tuple[str, ...] = ()
    traffics_left_out: dict[str, str] | None = None
    is_partial: bool = False
