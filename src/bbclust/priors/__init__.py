"""What F0 is: the distribution that the proper Bayesian bootstrap mixes with the data.

A prior is a plain object with ``prepare(X, reference, scale)``. It is called once per fit with the
rows of positive weight and the reference partition, and returns something with
``sample(n, generator)``. What it returns is published as ``BBC.prior_``. A prepared
:class:`GaussianMixture` is sampled by the engine itself; anything else is sampled in Python.

``scale`` (``BBC(prior_scale=...)``) multiplies the covariances that are read off the data; what an
expert or an earlier model states is used as it was stated.
"""

from bbclust.priors.contract import PreparedPrior, Prior, check_prepared
from bbclust.priors.covariances import semidefinite_factor
from bbclust.priors.elicited import ElicitedPrior
from bbclust.priors.gaussian import GaussianMixture
from bbclust.priors.kernel import KernelDensity, KernelPrior
from bbclust.priors.mixture import MixturePrior
from bbclust.priors.model import CarriedMixture, ModelPrior
from bbclust.priors.sampler import SampledDistribution, SampledFunction, SamplerPrior
from bbclust.priors.student import StudentMixture, StudentMixturePrior

__all__ = [
    "CarriedMixture",
    "ElicitedPrior",
    "GaussianMixture",
    "KernelDensity",
    "KernelPrior",
    "MixturePrior",
    "ModelPrior",
    "PreparedPrior",
    "Prior",
    "SampledDistribution",
    "SampledFunction",
    "SamplerPrior",
    "StudentMixture",
    "StudentMixturePrior",
    "check_prepared",
    "semidefinite_factor",
]
