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

# What matters only where K is chosen.
OF_CHOICE = ("criterion", "null_reference", "n_resamples", "fast", "sensitivity")


@dataclass(frozen=True)
class Method:
    """Parameters as the options give them, named like those of ``BBC`` and ``KSelector``.

    Attributes
    ----------
    k : tuple of int, or "auto"
        A single number is taken, several are chosen from.
    n_init : int or None
        None leaves it to :attr:`starts`.
    fast : bool
        Whether the tests, the half-samples and the other methods are left out.
    sensitivity : bool
        Whether all is repeated with other settings.
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
    sensitivity: bool = False
    missing: str = "error"
    seed: int = 0
    jobs: int = -1

    @property
    def chooses(self) -> bool:
        """Whether K is to be chosen."""
        return self.k == "auto" or len(self.k) > 1

    @property
    def starts(self) -> int:
        """k-means++ starts per replica: two for choosing K, five for a given one."""
        if self.n_init is not None:
            return self.n_init
        return 2 if self.chooses else 5

    def settings(self) -> dict[str, Any]:
        """What a result depends on, as it is used, as plain data: all but the threads."""
        plain = asdict(self) | {"n_init": self.starts}
        used = {"k": plain.pop("k"), "fast": plain.pop("fast"), **plain}
        if self.fast:
            used |= {"null_reference": 0, "n_resamples": 0}
        if not self.chooses:
            used["prior_scales"] = used["prior_scales"][:1]
        unused = {"jobs"} if self.chooses else {"jobs", *OF_CHOICE}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in used.items()
            if name not in unused
        }

    def estimator(self, callback: Callback | None) -> BBC:
        """A BBC with the single K, or as the template for choosing one."""
        from bbclust.estimators.bbc import BBC

        model = BBC(
            n_replicas=self.n_replicas,
            n_init=self.starts,
            prior_weight=self.prior_weight,
            resampling=self.resampling,
            weighting=self.weighting,
            votes=self.votes,
            missing=self.missing,
            n_jobs=self.jobs,
            random_state=self.seed,
            callbacks=callback,
        )
        if not self.chooses:
            model.set_params(
                n_clusters=self.k[0],
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
