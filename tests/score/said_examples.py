"""Whole answers with the finding of each, by language; the question is the colour of a railing, or the drawer 438."""

from __future__ import annotations

import tomllib
from pathlib import Path

_GROUPS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SAID = {
    code: [(answer, group["finding"]) for group in groups for answer in group["answers"]]
    for code, groups in _GROUPS.items()
}
