"""Makes a dataset and reads the data of its page, for tests of what pages draw."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import niah_gen
from niah_gen.page.render import page_of
from niah_score.contract import open_dataset

# Two languages and controls; every needle in every cell.
RECIPE: dict[str, Any] = {
    "name": "drawn", "lengths": [900, 1500], "depths": [0, 50, 100], "controls": ["absent", "no_context"],
    "needles": ["velden-archive", "heyuan-archive"], "form": "chat",
}  # fmt: skip
ENGLISH = "jsonl/en-900/test-00000-of-00001.jsonl"


def built(parent: Path, recipe: dict[str, Any] = RECIPE) -> Path:
    """The folder of a dataset of plain JSONL files."""
    return niah_gen.build(recipe, parent, formats=["jsonl"])


def data_in(page: bytes) -> dict[str, Any]:
    """The data of a page."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.decode())
    data: dict[str, Any] = json.loads(text)
    return data


def data_of(folder: Path) -> dict[str, Any]:
    """The data of a dataset's page."""
    return data_in(page_of(open_dataset(folder))[0])
