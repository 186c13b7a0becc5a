"""Parses TOML that may come from a stranger: keys of many steps take memory with the square of their number."""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_STEPS = 1000
# What can belong to one dotted key: anything but what ends it, and quoted names.
_KEY = re.compile(r"""(?:[^\n=\[\]{},#"']|"(?:\\.|[^"\\\n])*"|'[^'\n]*')+""")


def parse_toml(text: str) -> dict[str, Any]:
    """The table that a TOML text says. Raises ValueError, also for a dotted key of more than 1,000 steps."""
    if any(match[0].count(".") > MOST_STEPS for match in _KEY.finditer(text)):
        raise ValueError(f"a dotted key, or a line of a text, has more than {MOST_STEPS:,} steps")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None
