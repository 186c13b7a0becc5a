"""Measures how the processor time of a reader grows with the length of what it reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

SHORT, TIMES = 500, 16
# Linear readers take 16 times as long for 16 times the text, quadratic ones 256 times.
MOST = 4 * TIMES
# What takes less is not compared: a quadratic reader takes longer.
NOTICED = 0.02


def least_seconds(read: Callable[[str], object], text: str) -> float:
    """The processor time of reading a text, the least of three times, in seconds."""
    taken = []
    for _ in range(3):
        begun = time.process_time()
        read(text)
        taken.append(time.process_time() - begun)
    return min(taken)


def not_linear(read: Callable[[str], object], parts: Iterable[str], short_size: int = SHORT) -> list[str]:
    """What is wrong with the time that repeated parts take to read, in `short_size` characters and in TIMES as many."""
    wrong = []
    for part in parts:
        short, long = (part * (size // len(part)) for size in (short_size, TIMES * short_size))
        after = least_seconds(read, long)
        if after > NOTICED and after > MOST * (before := least_seconds(read, short)):
            wrong.append(f"{part!r} in {len(short):,} characters takes {before:.4f} s, in {len(long):,} {after:.4f} s")
    return wrong
