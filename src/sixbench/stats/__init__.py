"""Statistics of trials: pure functions on arrays.

The trial is the statistical unit, and the block is what pairs: an array holds one number a trial, never the intervals
inside one. No I/O and no clock; what is random takes a seed, so that a report is a pure function of its run. May
import `model` only.

=====================  =========================================================================
`mean`                 a path's own value: trimmed mean, coefficient of variation
`interval`             the half-width of a mean's confidence interval, and the evidence for the rule
`comparison`           a path against its baseline: ratio or difference, p-value, equivalence
`unpaired`             a run against another one: Welch's t
`multiplicity`         Holm's adjustment
`prediction`           where the next value will lie, and whether values lay where all others said
`proportion`           intervals of k of n
=====================  =========================================================================
"""

from .comparison import Comparison, Pairs, compare, compare_all
from .interval import half_width, half_widths
from .mean import coefficient_of_variation, trimmed_mean
from .multiplicity import holm
from .prediction import held_out
from .proportion import clopper_pearson, wilson
from .unpaired import Unpaired, compare_unpaired

__all__ = [
    "Comparison",
    "Pairs",
    "Unpaired",
    "clopper_pearson",
    "coefficient_of_variation",
    "compare",
    "compare_all",
    "compare_unpaired",
    "half_width",
    "half_widths",
    "held_out",
    "holm",
    "trimmed_mean",
    "wilson",
]
