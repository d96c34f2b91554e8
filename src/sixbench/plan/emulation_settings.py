"""The keys of a link that say what happens to packets. They stand beside its rate, or under `forward` and `reverse`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..model import units
from ..model.emulation import DISTRIBUTIONS, Chosen, GilbertElliott, Impairments
from ..model.files import open_regular
from ..model.parameter import Scalar
from ..model.wording import article, shown
from .link_setting import LinkSetting

MAX_DELAY_NS = 3600 * 10**9
MAX_LISTED = 4096
MAX_NUMBER = 2**32
MAX_FILE_BYTES = 2**20
MAX_DELAYS = 65_536

_RANGE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")


def parse_delay(value: object) -> Scalar:
    """A duration, in nanoseconds. Raises `ValueError`."""
    delay_ns = units.parse_duration(value)
    if delay_ns > MAX_DELAY_NS:
        raise ValueError(f"{shown(value)} is out of range: at most {units.format_duration(MAX_DELAY_NS)}")
    return delay_ns


def _share(value: object) -> Scalar:
    ratio = units.parse_ratio(value)
    if not 0 <= ratio <= 1:
        raise ValueError(f"{shown(value)} is out of range: give 0% to 100%")
    return ratio


def _correlation(value: object) -> Scalar:
    ratio = units.parse_ratio(value)
    if not 0 <= ratio < 1:
        raise ValueError(f"{shown(value)} is not a correlation: give 0% to under 100%")
    return ratio


def one_of(what: str, names: Sequence[str]) -> Callable[[object], Scalar]:
    """A parser for one of some names. It raises `ValueError`, which lists the names."""

    def parse(value: object) -> Scalar:
        if value not in names:
            raise ValueError(f"{shown(value)} is not {article(what)} {what}; known here: {', '.join(names)}")
        return str(value)

    return parse


def _burst(value: object) -> Scalar:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= 1e6:
        raise ValueError(
            f"{shown(value)} is not a mean length of bursts: give a number of packets from 1 to 1000000, such as 4"
        )
    return float(value)


def _states(value: object) -> Scalar:
    words = str(value).split()
    if not isinstance(value, str) or len(words) != 4:
        raise ValueError(
            f"{shown(value)} is not a Gilbert-Elliott loss: give four percentages, such as 1% 20% 0% 50%. They are "
            "the chances to leave the good state, to leave the bad state, of a loss in the good state, and of a "
            "loss in the bad state"
        )
    return " ".join(f"{100 * float(_share(word)):.12g}%" for word in words)


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
                f"the packets {shown(value)} are too many or too far: give at most {MAX_LISTED} with numbers "
                f"under {MAX_NUMBER}"
            )
        listed.extend(numbers)
    return " ".join(words)


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _numbers(word: str) -> range | None:
    """The packets that a word lists; None if it is not a list."""
    found = _RANGE.fullmatch(word)
    return None if found is None else range(int(found[1]), int(found[2] or found[1]) + 1)


def _late_by(value: object) -> Scalar:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_LISTED:
        raise ValueError(
            f"{shown(value)} is not a number of packets that pass a late one: give a whole number from 1 to "
            f"{MAX_LISTED}"
        )
    return value


def flag(value: object) -> Scalar:
    """True or false. Raises `ValueError`."""
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return value


def _file(value: object) -> Scalar:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{shown(value)} is not the name of a file")
    return value


EMULATION_SETTINGS: dict[str, LinkSetting] = {
    "delay": LinkSetting(
        parse=parse_delay,
        suffix="_ns",
        kind="duration",
        doc="time that is added to every packet, each way",
        default="0",
    ),
    "jitter": LinkSetting(
        parse=parse_delay,
        suffix="_ns",
        kind="duration",
        doc=(
            "variation of the delay, each way: the largest deviation if it is uniform, else the standard deviation; "
            "packets may overtake each other unless in-order is true"
        ),
        default="0",
    ),
    "jitter-distribution": LinkSetting(
        parse=one_of("distribution", DISTRIBUTIONS),
        suffix="",
        kind="distribution",
        doc="uniform, normal or pareto (shape 3, moved to the mean 0); delays under 0 are 0",
        default="uniform",
    ),
    "jitter-correlation": LinkSetting(
        parse=_correlation,
        suffix="_ratio",
        kind="ratio",
        doc="correlation of one packet's jitter with the next one's",
        default="0",
    ),
    "delay-file": LinkSetting(
        parse=_file,
        suffix="",
        kind="file",
        doc=(
            "a file beside the experiment with delays to draw from, one a line, such as 12.5ms; it replaces delay "
            "and jitter"
        ),
        default="none",
    ),
    "in-order": LinkSetting(
        parse=flag,
        suffix="",
        kind="flag",
        doc=(
            "packets leave in the order in which they came, as on most links; none leaves before the one that came "
            "before it"
        ),
        default="false",
    ),
    "loss": LinkSetting(
        parse=_share, suffix="_ratio", kind="ratio", doc="share of packets that are dropped, each way", default="0"
    ),
    "loss-burst": LinkSetting(
        parse=_burst,
        suffix="_packets",
        kind="number",
        doc="mean number of packets that are lost in a row (Gilbert's model); loss stays the share that is lost",
        default="at random, each packet by itself",
    ),
    "gilbert-elliott": LinkSetting(
        parse=_states,
        suffix="",
        kind="states",
        doc=(
            "losses by a good and a bad state, instead of loss; four probabilities: to leave the good state, to "
            "leave the bad state, of a loss in the good state, of a loss in the bad state"
        ),
        default="none",
    ),
    "lost-packets": LinkSetting(
        parse=_packets,
        suffix="",
        kind="packets",
        doc="exactly these packets are dropped, such as 5 9-12; they are numbered from 0 in each trial and direction",
        default="none",
    ),
    "duplicate": LinkSetting(
        parse=_share,
        suffix="_ratio",
        kind="ratio",
        doc="share of packets that come twice, chosen at random",
        default="0",
    ),
    "duplicated-packets": LinkSetting(
        parse=_packets, suffix="", kind="packets", doc="exactly these packets come twice", default="none"
    ),
    "corrupt": LinkSetting(
        parse=_share,
        suffix="_ratio",
        kind="ratio",
        doc="share of packets that have one bit flipped, chosen at random",
        default="0",
    ),
    "reorder": LinkSetting(
        parse=_share,
        suffix="_ratio",
        kind="ratio",
        doc="share of packets, chosen at random, that are not delayed and so overtake those before them",
        default="0",
    ),
    "late-packets": LinkSetting(
        parse=_packets,
        suffix="",
        kind="packets",
        doc="exactly these packets are held back until as many later ones have passed as late-by says",
        default="none",
    ),
    "late-by": LinkSetting(
        parse=_late_by, suffix="_packets", kind="count", doc="how many packets pass one that is held back", default="1"
    ),
}


def impairments(value: Mapping[str, Scalar], delays_ns: tuple[int, ...] = ()) -> Impairments:
    """What happens to packets, by the settings that the file gives."""
    loss: Chosen | GilbertElliott | None = _chosen(value, "loss", "lost-packets")
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
        distribution=next(one for one in DISTRIBUTIONS if one == value.get("jitter-distribution", DISTRIBUTIONS[0])),
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
    """What is wrong with settings of one direction that are each right on their own: the key, and the sentence."""
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
            delays.append(int(parse_delay(words)))
        except ValueError as error:
            raise ValueError(f"{file}:{number}: {error}") from error
    if not 2 <= len(delays) <= MAX_DELAYS:
        raise ValueError(f"{file} has {len(delays)} delays; give 2 to {MAX_DELAYS}, one a line, such as 12.5ms")
    return tuple(sorted(delays))


def _chosen(value: Mapping[str, Scalar], ratio: str, packets: str = "") -> Chosen | None:
    found = Chosen(ratio=float(value.get(ratio, 0)), packets=_listed(value, packets))
    return found if found.ratio or found.packets else None


def _listed(value: Mapping[str, Scalar], key: str) -> tuple[int, ...]:
    return tuple(number for word in _words(str(value.get(key, ""))) for number in _numbers(word) or ())
