"""What F0 is: the distribution that the proper Bayesian bootstrap mixes with the data.

A prior is a plain object with ``prepare(X, reference, scale)``. It is called once per fit with the
rows of positive weight and the reference partition, and returns something with
``sample(n, generator)``. What it returns is published as ``BBC.prior_``. Everything else about it
(whether it needs rows, how it is drawn and stored) it says itself, see :class:`Prior` and
:class:`PreparedPrior`.

``scale`` (``BBC(prior_scale=...)``) multiplies the covariances that are read off the data; what an
expert or an earlier model states is used as it was stated.
"""

from bbclust.priors.contract import (
    PreparedPrior,
    Prior,
)
from bbclust.priors.elicited import ElicitedPrior
from bbclust.priors.gaussian import GaussianMixture
from bbclust.priors.kernel import KernelDensity, KernelPrior
from bbclust.priors.mixture import MixturePrior
from bbclust.priors.model import CarriedMixture, ModelPrior
from bbclust.priors.sampler import SampledDistribution, SampledFunction, SamplerPrior
from bbclust.priors.storage import PlainData, StorablePrior, stored_as
from bbclust.priors.student import StudentMixture, StudentMixturePrior

__all__ = [
    "CarriedMixture",
    "ElicitedPrior",
    "GaussianMixture",
    "KernelDensity",
    "KernelPrior",
    "MixturePrior",
    "ModelPrior",
    "PlainData",
    "PreparedPrior",
    "Prior",
    "SampledDistribution",
    "SampledFunction",
    "SamplerPrior",
    "StorablePrior",
    "StudentMixture",
    "StudentMixturePrior",
    "stored_as",
]
