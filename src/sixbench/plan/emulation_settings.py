"""The keys of a link that say what happens to packets. They stand beside its rate, or under `forward` and `reverse`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..model import units
from ..model.emulation import DISTRIBUTIONS, ChosenPackets, GilbertElliott, Impairments
from ..model.files import open_regular
from ..model.parameter import Parameter, Scalar
from ..model.quoting import shown

MAX_DELAY_NS = 3600 * 10**9
MAX_LISTED = 4096
MAX_NUMBER = 2**32
MAX_FILE_BYTES = 2**20
MAX_DELAYS = 65_536

_RANGE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")


def _correlation(value: object) -> Scalar:
    ratio = units.parse_ratio(value)
    if not 0 <= ratio < 1:
        raise ValueError(f"{shown(value)} is not a correlation: give 0% to under 100%")
    return ratio


def _states(value: object) -> Scalar:
    words = str(value).split()
    if not isinstance(value, str) or len(words) != 4:
        raise ValueError(
            f"{shown(value)} is not a Gilbert-Elliott loss: give four percentages, such as 1% 20% 0% 50%. They are "
            "the chances to leave the good state, to leave the bad state, of a loss in the good state, and of a "
            "loss in the bad state"
        )
    return " ".join(f"{100 * _probability(word):.12g}%" for word in words)


def _packets(value: object) -> Scalar:
    """Numbers and ranges of packets in ascending order, always written in the same way."""
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    words = _words(text)
    if not words:
        raise ValueError(f"{shown(value)} is not a list of packets: give numbers from 0 and ranges, such as 5 9-12")
    listed: list[int] = []
    for word in words:
        numbers = _numbers(word)
        if numbers is None:
            raise ValueError(f"{shown(word)} is neither the number of a packet nor a range such as 9-12")
        if not numbers or (listed and numbers[0] <= listed[-1]):
            raise ValueError(f"the packets {shown(value)} must be in ascending order, each once; this fails at {word}")
        if numbers[-1] >= MAX_NUMBER or len(listed) + len(numbers) > MAX_LISTED:
            raise ValueError(
                f"the packets {shown(value)} are too many, or their numbers are too high: give at most {MAX_LISTED} "
                "with numbers "
                f"under {MAX_NUMBER}"
            )
        listed.extend(numbers)
    return " ".join(words)


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _numbers(word: str) -> range | None:
    """The packets that a word lists; None if it is not a list."""
    match = _RANGE.fullmatch(word)
    return None if match is None else range(int(match[1]), int(match[2] or match[1]) + 1)


def _probability(value: object) -> float:
    ratio = units.parse_ratio(value)
    if not 0 <= ratio <= 1:
        raise ValueError(f"{shown(value)} is out of range: give 0% to 100%")
    return ratio


def _time(name: str, doc: str) -> Parameter:
    return Parameter(name=name, kind="duration", doc=doc, minimum=0, maximum=MAX_DELAY_NS, default=0)


def _share(name: str, doc: str) -> Parameter:
    return Parameter(name=name, kind="ratio", doc=doc, minimum=0, maximum=1, default=0.0)


def _list(name: str, doc: str) -> Parameter:
    return Parameter(name=name, kind="packets", parser=_packets, doc=doc, unless_given="none")


DELAY = _time("delay", "time that is added to every packet, each way")
EMULATION_PARAMETERS: tuple[Parameter, ...] = (
    DELAY,
    _time(
        "jitter",
        "variation of the delay, each way: the largest deviation if it is uniform, else the standard deviation; "
        "packets may overtake each other unless in-order is true",
    ),
    Parameter(
        name="jitter-distribution",
        kind="choice",
        choices=DISTRIBUTIONS,
        doc="uniform, normal or pareto (shape 3, moved to the mean 0); delays under 0 are 0",
        default="uniform",
    ),
    Parameter(
        name="jitter-correlation",
        kind="ratio",
        parser=_correlation,
        doc="correlation of one packet's jitter with the next one's",
        default=0.0,
    ),
    Parameter(
        name="delay-file",
        kind="file",
        doc=(
            "a file beside the experiment with delays to draw from, one a line, such as 12.5ms; it replaces delay "
            "and jitter"
        ),
        unless_given="none",
    ),
    Parameter(
        name="in-order",
        kind="flag",
        doc="packets leave in the order in which they came, as on most links",
        default=False,
    ),
    _share("loss", "share of packets that are dropped, each way"),
    Parameter(
        name="loss-burst",
        column="loss_burst_packets",
        kind="number",
        doc="mean number of packets that are lost in a row (Gilbert's model); loss is still the share that is lost",
        minimum=1,
        maximum=10**6,
        unless_given="at random, each packet by itself",
    ),
    Parameter(
        name="gilbert-elliott",
        kind="states",
        parser=_states,
        doc=(
            "losses by a good and a bad state, instead of loss; four probabilities: to leave the good state, to "
            "leave the bad state, of a loss in the good state, of a loss in the bad state"
        ),
        unless_given="none",
    ),
    _list(
        "lost-packets",
        "exactly these packets are dropped, such as 5 9-12; they are numbered from 0 in each trial and direction",
    ),
    _share("duplicate", "share of packets that come twice, chosen at random"),
    _list("duplicated-packets", "exactly these packets come twice"),
    _share("corrupt", "share of packets that have one bit flipped, chosen at random"),
    _share(
        "reorder",
        "share of packets, chosen at random, that are not delayed and so overtake those before them",
    ),
    _list(
        "late-packets",
        "exactly these packets are held back until late-by later ones have passed",
    ),
    Parameter(
        name="late-by",
        column="late_by_packets",
        kind="count",
        doc="number of packets that pass one that is held back",
        minimum=1,
        maximum=MAX_LISTED,
        default=1,
    ),
)
"""Impairments of a link, in the order of the documents."""


def impairments(value: Mapping[str, Scalar], delays_ns: tuple[int, ...] = ()) -> Impairments:
    """Impairments of packets, by the settings that the file gives."""
    loss: ChosenPackets | GilbertElliott | None = _chosen(value, "loss", "lost-packets")
    if "gilbert-elliott" in value:
        loss = GilbertElliott(
            **dict(
                zip(
                    ("to_bad", "to_good", "loss_in_good", "loss_in_bad"),
                    (units.parse_ratio(word) for word in str(value["gilbert-elliott"]).split()),
                    strict=True,
                )
            )
        )
    elif "loss-burst" in value and value.get("loss"):
        to_good = 1 / float(value["loss-burst"])
        ratio = float(value["loss"])
        loss = GilbertElliott(to_bad=min(1.0, to_good * ratio / (1 - ratio)), to_good=to_good)
    return Impairments(
        delay_ns=int(value.get("delay", 0)),
        jitter_ns=int(value.get("jitter", 0)),
        distribution=next(name for name in DISTRIBUTIONS if name == value.get("jitter-distribution", DISTRIBUTIONS[0])),
        jitter_correlation=float(value.get("jitter-correlation", 0)),
        delays_ns=delays_ns,
        loss=loss,
        duplicate=_chosen(value, "duplicate", "duplicated-packets"),
        corrupt=_chosen(value, "corrupt"),
        overtaking=_chosen(value, "reorder"),
        in_order=value.get("in-order") is True,
        late=_listed(value, "late-packets"),
        late_by=int(value.get("late-by", 1)),
    )


def check_impairments(value: Mapping[str, Scalar]) -> tuple[str, str] | None:
    """The problem with settings of one direction that are each right on their own: the key, and the sentence."""
    delay_ns, jitter_ns = int(value.get("delay", 0)), int(value.get("jitter", 0))
    if jitter_ns > delay_ns:
        jitter, delay = units.format_duration(jitter_ns), units.format_duration(delay_ns)
        return "jitter", (
            f"a jitter of {jitter} on a delay of {delay} would need delays under 0; give a delay of at least {jitter}"
        )
    if "loss-burst" in value:
        ratio, length = float(value.get("loss", 0)), float(value["loss-burst"])
        if ratio >= 1 or ratio / (1 - ratio) > length:
            return "loss-burst", (
                f"a loss of {100 * ratio:g}% cannot come in bursts of {length:g} packets: "
                "the good states between them would be shorter than a packet"
            )
    return None


def read_delays(file: Path) -> tuple[int, ...]:
    """The delays of a file in ascending order, in nanoseconds. A line has one delay, and `#` begins a comment.

    Raises `ValueError` with the file and the line.
    """
    try:
        with open_regular(file) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ValueError(f"reading {file}: {error.strerror}") from error
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"{file} is larger than {units.format_size(MAX_FILE_BYTES)}")
    delays: list[int] = []
    for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        try:
            delays.append(int(DELAY.parse(words)))
        except ValueError as error:
            raise ValueError(f"{file}:{number}: {error}") from error
    if not 2 <= len(delays) <= MAX_DELAYS:
        raise ValueError(f"{file} has {len(delays)} delays; give 2 to {MAX_DELAYS}, one a line, such as 12.5ms")
    return tuple(sorted(delays))


def _chosen(value: Mapping[str, Scalar], ratio: str, packets: str = "") -> ChosenPackets | None:
    chosen = ChosenPackets(ratio=float(value.get(ratio, 0)), packets=_listed(value, packets))
    return chosen if chosen.ratio or chosen.packets else None


def _listed(value: Mapping[str, Scalar], key: str) -> tuple[int, ...]:
    return tuple(number for word in _words(str(value.get(key, ""))) for number in _numbers(word) or ())
