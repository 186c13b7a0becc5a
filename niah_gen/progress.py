"""Shows the progress of long work as a bar on a terminal."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from niah_score.machine.run import abandoned_by

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_BAR_AFTER_SECONDS = 1.0


class Progress(Protocol):
    """Receives progress: `start` gets the totals (nominal tokens), `advance` what was done since the last call."""

    def start(self, rows: int, tokens: int) -> None: ...
    def advance(self, rows: int, tokens: int) -> None: ...


class ProgressBar:
    """A progress bar on a terminal, for work that takes longer than a second."""

    def __init__(self) -> None:
        self._bar: RichProgress | None = None
        self._opened = ExitStack()
        self._rows = self._tokens = self._done_rows = self._done_tokens = 0
        self._began = time.monotonic()

    def start(self, rows: int, tokens: int) -> None:
        """Set the totals."""
        self._rows, self._tokens = rows, tokens

    def advance(self, rows: int, tokens: int) -> None:
        """Add what was done since the last call."""
        self._done_rows += rows
        self._done_tokens += tokens
        elapsed = time.monotonic() - self._began
        if self._bar is None and elapsed > _BAR_AFTER_SECONDS and sys.stderr.isatty():
            self._bar = self._open()
        if self._bar is not None:
            speed = f"{self._done_tokens / elapsed / 1e6:.1f}M tokens/s"
            self._bar.update(
                self._bar.task_ids[0],
                completed=self._done_tokens, rows=f"{self._done_rows}/{self._rows} rows", speed=speed,
            )  # fmt: skip

    def _open(self) -> RichProgress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("{task.fields[rows]}"), BarColumn(), TextColumn("{task.fields[speed]}"), TimeRemainingColumn(),
            console=Console(stderr=True),
        )  # fmt: skip
        bar.start()
        self._opened.enter_context(abandoned_by(_leave_line))
        bar.add_task("build", total=self._tokens, rows="", speed="")
        return bar

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            if kind is None:
                # Prompts are a little shorter than their lengths, so the sum falls short of the total.
                self._bar.update(self._bar.task_ids[0], completed=self._tokens)
            self._bar.stop()
        self._opened.close()


def _leave_line() -> None:
    """If the process ends abruptly, move to the line below the bar and show the cursor, which the bar hides."""
    os.write(2, b"\n" if os.environ.get("TERM") in ("dumb", "unknown") else b"\n\x1b[?25h")
