# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the program's progress: as a bar of tqdm where it is installed, otherwise as text."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

from ._program import Listener, Progress


class Text:
    """Writes lines of progress over each other on a terminal, below each other elsewhere."""

    def __call__(self, progress: Progress) -> None:
        if sys.stderr.isatty():
            end = "\n" if 0 < progress.total == progress.done else ""
            print(f"\r\x1b[K{progress.text}", end=end, file=sys.stderr, flush=True)
        else:
            print(progress.text, file=sys.stderr, flush=True)


class Bar:
    """A bar of tqdm for each series of points."""

    def __init__(self, tqdm: Any):
        self.tqdm = tqdm
        self.bar: Any = None

    def __call__(self, progress: Progress) -> None:
        if not progress.total:
            return
        if self.bar is None or self.bar.total != progress.total:
            self.bar = self.tqdm(total=progress.total)
        self.bar.n = progress.done
        self.bar.refresh()
        if progress.done == progress.total:
            self.bar.close()
            self.bar = None


def listener_for(wanted: bool | Listener | None) -> Listener | None:
    """None shows progress on a terminal and in a notebook. A function gets each line."""
    if wanted is None:
        wanted = "ipykernel" in sys.modules or sys.stderr.isatty()
    if not isinstance(wanted, bool):
        return wanted
    if not wanted:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tqdm, about notebooks without widgets
            return Bar(importlib.import_module("tqdm.auto").tqdm)
    except ImportError:
        return Text()
