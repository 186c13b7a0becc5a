"""Numbered passages: numbers are random, depths share everything but the place, and texts too short are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import niah_gen
from niah_gen.errors import FitError


def recipe_of(kind: str, **changes: object) -> dict[str, Any]:
    return {
        "name": "passages", "template": "passages", "lengths": [2000, 4000], "depths": [0, 37, 100], "reserve": 300,
        "options": {"rows": 2}, "task": f"passage-{kind}", **changes,
    }  # fmt: skip


def test_a_corpus_of_too_few_sentences_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("One sentence. Another one. A third.\n", "utf-8")
    with pytest.raises(FitError, match="expected at least 8"):
        list(niah_gen.iter_rows(recipe_of("copy", corpora=[str(tmp_path)])))
