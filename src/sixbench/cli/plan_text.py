"""The words of a plan: how long it takes, its paths, its links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.units import format_duration

if TYPE_CHECKING:
    from ..bench.estimate import RunEstimate
    from ..model.experiment import Experiment
    from ..model.leg import Legs
    from ..model.path import Path
    from ..model.topology import Link

VIRTUAL_CLOCK = "by the clock of the emulated machines"


def trials_words(experiment: Experiment) -> str:
    """Such as `90 trials`, `360 to 720 trials` where a rule decides, or `at least 90 trials` where the time does."""
    from ..plan.schedule import trial_counts

    least, most = trial_counts(experiment)
    if least == most:
        return "1 trial" if least == 1 else f"{least} trials"
    return f"at least {least} trials" if experiment.blocks.time_ns is not None else f"{least} to {most} trials"


def blocks_words(experiment: Experiment) -> str:
    """Such as `6 combinations x 3 paths x 5 blocks`, with the rule that ends blocks early."""
    blocks = experiment.blocks
    least = "" if blocks.minimum == blocks.maximum else f"{blocks.minimum} to "
    measured = [counted(len(experiment.combinations), "combination"), counted(len(experiment.paths), "path")]
    if any(combination.paths for combination in experiment.combinations):
        measured = [f"{len(experiment.path_combinations)} of {' x '.join(measured)}"]
    product = " x ".join([*measured, least + counted(blocks.maximum, "block")])
    until = [] if blocks.until is None else ["until answers are decided"]
    time = [] if blocks.time_ns is None else [f"for at most {format_duration(blocks.time_ns)}"]
    return ", ".join([product, *until, *time])


def repeats_words(experiment: Experiment) -> str:
    """The rule for repeated trials, and their largest number."""
    if not experiment.repeats:
        return "no trial is repeated"
    times = "once" if experiment.repeats == 1 else f"{experiment.repeats} times"
    return (
        "a trial that is invalid only because the machine was disturbed, as by late timers, is repeated at once, at "
        f"most {times}"
    )


def time_words(experiment: Experiment, estimated: RunEstimate) -> str:
    """Such as `about 2 min 10 s`, `about 34 min to 1 h 10 min`, `at least 5 min`."""
    least, most = duration_words(estimated.least_ns), duration_words(estimated.most_ns)
    text = least if least == most else f"{least} to {most}"
    if not estimated.open_ended:
        text = f"about {text}"
    elif least == most:
        text = f"at least {text}"
    else:
        text = f"{text} or longer"
    return f"{text} {VIRTUAL_CLOCK}" if experiment.kernels else text


def duration_words(duration_ns: float) -> str:
    """A time as people say it, in steps of some per cent: `35 s`, `2 min 10 s`, `34 min`, `1 h 10 min`."""
    seconds = duration_ns / 1e9
    step_s = 1 if seconds < 10 else 5 if seconds < 60 else 10 if seconds < 600 else 60 if seconds < 3600 else 300
    whole = max(1, round(seconds / step_s) * step_s)
    hours, minutes, seconds_left = whole // 3600, whole // 60 % 60, whole % 60
    parts = [(hours, "h"), (minutes, "min"), (seconds_left, "s")]
    return " ".join(f"{value} {unit}" for value, unit in parts if value)


def counted(number: int, noun: str) -> str:
    """Such as `1 path`, `3 paths`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def path_words(path: Path) -> str:
    """Its mechanism, as an experiment would write it."""
    from ..mechanisms import MECHANISMS

    parts = [f"on {', '.join(path.nodes)}"] if path.nodes else []
    for name, value in path.options.items():
        option = MECHANISMS[path.mechanism].option(name)
        parts.append(f"{name}: {option.format(value) if option else value}")
    if path.engine is not None:
        parts.append(f"engine: {path.engine}")
    return " ".join([path.mechanism, ", ".join(parts)]).strip()


def ends_words(legs: Legs) -> str:
    """Such as `198.18.0.1 to 198.18.2.2, which sees 198.18.2.1`; the server's own address is in brackets where the
    client knows it by another."""
    first, last = legs[0], legs[-1]
    other_end = "" if last.destination == first.destination else f" ({last.destination})"
    seen = "" if last.source == first.source else f", which sees {last.source}"
    return f"{first.source} to {first.destination}{other_end}{seen}"


def link_descriptions(link: Link) -> str:
    """Such as `profile dsl, MTU 1492; from h1: 8 Mbit/s, delay 10 ms; from r1: 33 Mbit/s, delay 10 ms`."""
    from ..report.link_descriptions import direction_words

    parts = [f"profile {link.profile}, MTU {link.mtu_bytes}" if link.profile else f"MTU {link.mtu_bytes}"]
    names = [direction_words(direction) for direction in link.directions]
    if names[0] == names[1]:
        parts += [f"each way: {names[0]}"] if names[0] else []
    else:
        parts += [
            f"from {end.node}: {name or 'as fast as the machine'}" for end, name in zip(link.ends, names, strict=True)
        ]
    return "; ".join(parts)
