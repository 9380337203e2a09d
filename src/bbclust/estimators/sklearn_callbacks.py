"""Callbacks of scikit-learn 1.9 and later: what ``set_callbacks`` takes may watch a fit.

Below that version there is no ``set_callbacks``; plain functions in ``callbacks`` work everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    CallbackSupportMixin = object

    def with_callbacks(method: Method) -> Method:
        """Run a method without callbacks, of which this scikit-learn knows nothing."""
        return method


__all__ = ["CallbackContext", "CallbackSupport", "with_callbacks"]

N_STEPS = 100


class CallbackSupport(CallbackSupportMixin):  # type: ignore[misc]
    """Base of estimators that have ``set_callbacks`` where scikit-learn knows of it."""


class CallbackContext:
    """Tells the scikit-learn callbacks of an estimator how far its fit is, in hundredths.

    Each hundredth that ends before the fit does is a task below it; the last one stands for all
    that is left, so that a small fit does not spend its time on telling. It is called like a plain
    callback, inside a ``with`` that lasts as long as the work, in a method decorated by
    ``with_callbacks``.

    Attributes
    ----------
    stopped : bool
        Whether a callback has asked to stop.
    """

    def __init__(self, estimator: Any, task_name: str, X: Any) -> None:
        self.stopped = False
        self._estimator = estimator
        self._task_name = task_name
        self._X = X
        self._n_ended = 0
        self._fit: Any = None  # stays None where scikit-learn knows nothing of callbacks

    def __enter__(self) -> CallbackContext:
        if hasattr(self._estimator, "_init_callback_context"):
            self._fit = self._estimator._init_callback_context(max_subtasks=N_STEPS)
            self._fit.call_on_fit_task_begin(estimator=self._estimator, X=self._X)
            self._begin_step()
        return self

    def __call__(self, done: int, total: int) -> None:
        if self._fit is None or done == total:
            return
        while self._n_ended < N_STEPS * done // total:
            self._end_step()
            self._begin_step()

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._fit is None or error is not None:
            return
        self._end_step()
        self._fit.call_on_fit_task_end(estimator=self._estimator)

    def _begin_step(self) -> None:
        self._step = self._fit.subcontext(task_name=self._task_name)
        self._step.call_on_fit_task_begin(estimator=self._estimator)

    def _end_step(self) -> None:
        self._n_ended += 1
        self.stopped |= bool(self._step.call_on_fit_task_end(estimator=self._estimator))
