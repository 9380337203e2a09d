"""Temporary."""

from bbclust.priors.contract import check_prepared
from bbclust.priors.elicited import ElicitedPrior


def prepare_scales(prior, X, reference, scales, n_features):  # type: ignore
    if isinstance(prior, ElicitedPrior):
        elicited = prior.prepare(X, reference, 1.0)
        return [elicited.scaled(scale) for scale in scales]
    return [check_prepared(prior.prepare(X, reference, scale), n_features) for scale in scales]


def needs_rows(prior):  # type: ignore
    from bbclust.priors import MixturePrior, ModelPrior, SamplerPrior, StudentMixturePrior

    kinds = (ElicitedPrior, MixturePrior, ModelPrior, SamplerPrior, StudentMixturePrior)
    return type(prior) not in kinds
