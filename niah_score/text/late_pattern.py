"""Compiles regular expressions on first use, as most commands read no dates, times or amounts of money."""

from __future__ import annotations

import re
from typing import Any, cast


class _LatePattern:
    """A stand-in for a pattern. Each method is stored as an attribute on first use, so that later calls are fast."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes not stored yet; re caches compiled patterns.
        value = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, value)
        return value


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile`, done when the pattern is first used; an invalid pattern fails only then."""
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))
