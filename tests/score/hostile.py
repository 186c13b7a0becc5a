"""Lists texts that would do something on a page, a terminal or a table that took them for more than text."""

from __future__ import annotations

import json
from pathlib import Path

_TEXTS: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
# Code in them leaves its mark in `window.hit` if it runs.
HOSTILE = tuple(_TEXTS["pages"])
# Not UTF-8, so never in a file, but possible in file names and in what is typed into a terminal.
SURROGATES = ("\udcff</script>\ud800", "\ud83d alone \ude00")
# Links, markup and formulas, for readers of Markdown, LaTeX and tables.
MARKDOWN = tuple(_TEXTS["markdown"])
EVERY = tuple(dict.fromkeys((*_TEXTS["signs"], *HOSTILE, *SURROGATES, *MARKDOWN)))
