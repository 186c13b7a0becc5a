"""Compiles regular expressions when they are first used: most commands read no dates, times or sums of money."""

from __future__ import annotations

import re
from typing import Any, cast


class _LatePattern:
    """Stands for a pattern. What has been asked of it once is an attribute of its own, found as fast as a method."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        # Called only for what is not there yet; re keeps what it has compiled.
        found = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, found)
        return found


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile`, whose work is done when the pattern is first matched. A wrong pattern fails only then."""
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))
