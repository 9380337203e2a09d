"""The parameters of the method, and the estimators they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bbclust.estimators.bbc import BBC
    from bbclust.selection.k_selector import KSelector

Callback = Callable[[int, int], None]


@dataclass(frozen=True)
class Method:
    """Parameters as the options give them, named like those of ``BBC`` and ``KSelector``.

    Attributes
    ----------
    k : tuple of int, or "auto"
        A single number is taken, several are chosen from.
    n_init : int or None
        None leaves it to the estimators: two starts for choosing K, five for a given one.
    fast : bool
        Whether the tests, the half-samples and the other methods are left out.
    """

    k: tuple[int, ...] | str
    n_replicas: int = 200
    n_init: int | None = None
    n_draws: int | None = None
    prior_scales: tuple[float, ...] = (1.0, 1.5, 2.5)
    prior_weight: float = 0.5
    resampling: str = "proper"
    weighting: str = "weights"
    votes: str = "auto"
    criterion: str = "auto"
    null_reference: int = 19
    n_resamples: int = 10
    fast: bool = False
    seed: int = 0
    jobs: int = -1

    @property
    def chooses(self) -> bool:
        """Whether K is to be chosen."""
        return self.k == "auto" or len(self.k) > 1

    def settings(self) -> dict[str, Any]:
        """What a result depends on, as plain data: all but the threads."""
        plain = asdict(self)
        del plain["jobs"]
        return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}

    def estimator(self, callback: Callback | None) -> BBC:
        """A BBC with the single K, or as the template for choosing one."""
        from bbclust.estimators.bbc import BBC

        model = BBC(
            n_replicas=self.n_replicas,
            n_init=2 if self.n_init is None else self.n_init,
            prior_weight=self.prior_weight,
            resampling=self.resampling,
            weighting=self.weighting,
            votes=self.votes,
            n_jobs=self.jobs,
            random_state=self.seed,
            callbacks=callback,
        )
        if not self.chooses:
            model.set_params(
                n_clusters=self.k[0],
                n_init=5 if self.n_init is None else self.n_init,
                prior_scale=self.prior_scales[0],
                n_draws=self.n_draws,
            )
        return model

    def selector(
        self,
        callback: Callback,
        of_fit: Callback | None = None,
        *,
        checkpoint: Path | None = None,
        refit: bool = True,
    ) -> KSelector:
        """A KSelector over the K's."""
        from bbclust.selection.k_selector import KSelector

        return KSelector(
            self.estimator(of_fit),
            k_range=self.k,
            prior_scales=self.prior_scales,
            criterion=self.criterion,
            n_draws="auto" if self.n_draws is None else self.n_draws,
            null_reference=0 if self.fast else self.null_reference,
            n_resamples=0 if self.fast else self.n_resamples,
            refit=refit,
            callbacks=callback,
            checkpoint=checkpoint,
            n_jobs=self.jobs,
            random_state=self.seed,
        )
