"""Statistics of trials: pure functions on arrays.

The trial is the statistical unit, and the block is what pairs: an array holds one number a trial, never the intervals
inside one. No I/O and no clock; what is random takes a seed, so that a report is a pure function of its run. May
import `model` only.

=====================  =========================================================================
`mean`                 trimmed mean, coefficient of variation
`own_value`            a path's own value with its interval
`interval`             the half-width of a mean's confidence interval, and the evidence for the rule
`biweight`             the centre of ratios of which one in five may be wild, and its interval
`comparison`           a path against its baseline: ratio or difference, p-value, equivalence
`two_clocks`           one-way delays between two clocks, and how uncertain they are
`unpaired`             a run against another one: Welch's t
`multiplicity`         Holm's adjustment
`sequential`           looks before the end: levels that keep the error, repeated p-values
`prediction`           where the next value will lie, and whether values lay where all others said
`rank_sum`             whether values lie higher or lower than others: Mann and Whitney, exactly
`outlying`             values far from the others, and samples that have more of them: Barnard's exact test
`control`              looks at a series over time against a baseline, with a stated rate of false alarms
`pooling`              the mean of groups with its interval, and whether they have the same value
`random_effects`       the mean of effects that differ, such as those of many servers: Hartung, Knapp, Sidik, Jonkman
`moderated`            variances of few values, moved towards what all of them have in common
`heterogeneity`        whether groups of values are alike: Kruskal and Wallis, by permutation
`proportion`           intervals of k of n
`sample_size`          how many trials an interval of a given width takes
=====================  =========================================================================
"""

from .comparison import SAME, Comparison, Estimator, Pairs, compare, compare_all
from .control import LASTING, MIN_BASELINE, Departure, departures, sudden_width
from .heterogeneity import alike_p_value
from .interval import half_width, half_widths, student_quantile
from .mean import coefficient_of_variation, trimmed_mean
from .multiplicity import holm
from .outlying import more_often_p_value, outlying
from .own_value import OwnValues, own_values
from .pooling import GroupValue, Pooled, pool
from .prediction import held_out
from .proportion import clopper_pearson, wilson
from .random_effects import Effect, RandomEffects, random_effects
from .sample_size import values_needed
from .sequential import Looks
from .unpaired import Unpaired, compare_unpaired
