"""The paper's tables and figures, run again and compared: ``python -m reproduction``.

One file per table, figure and question, on the public interface of bbclust only. Each holds a
:class:`~reproduction.study.Study`: what is measured, how the page shows it, and which
figures a test compares. The values printed in the paper are in ``printed.json``.
"""

from reproduction.command import main
from reproduction.results import run

__all__ = ["main", "run"]
