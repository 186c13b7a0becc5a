"""Reads and writes plan.json: what completing a partial folder needs to know about its plan.

Partial folders may come from other machines. So nothing in plan.json is trusted before its seal and the type of every
field are checked, and no path in it may lead out of the folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from niah_gen.errors import IntegrityError
from niah_score.contract import (
    DATA_FORMATS,
    SPLIT,
    CorpusEntry,
    TokenizerEntry,
    canonical_json,
    is_safe_path,
    parts_of,
    read_regular,
    seal_is_broken,
    sealed,
    strict_json,
)

# Enough for millions of shards and cells.
_MOST_BYTES = 512 * 2**20
_STEM = re.compile(rf"[^/]+/{SPLIT}-\d{{5,9}}-of-\d{{5,9}}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def sheet_bytes(sheet: Mapping[str, Any]) -> bytes:
    """The content of plan.json, with its own sha256."""
    return canonical_json(sealed(sheet))


def read_sheet(path: Path, name: str) -> dict[str, Any]:
    """The content of a dataset's plan.json. `name`: of the dataset's folder, which ends with the plan's digest.

    Raises IntegrityError if it is damaged, changed, not what a build writes, or another dataset's.
    """
    try:
        sheet = strict_json(read_regular(path, _MOST_BYTES))
        if not isinstance(sheet, dict):
            raise TypeError(f"{sheet!r:.80} is not a table")
        if seal_is_broken(sheet) or "self_sha256" not in sheet:
            raise ValueError("its self_sha256 is not that of its other fields")
        _check(sheet)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"no field {error}" if isinstance(error, KeyError) else error
        raise IntegrityError(
            f"{path}: damaged, or not what a build writes ({reason}); run any of the shards again"
        ) from None
    if not name.endswith(f"-{sheet['plan_digest'][:8]}"):
        raise IntegrityError(
            f"{path}: belongs to dataset {sheet['plan_digest'][:8]}; its folder was renamed, or it is from another "
            "build: run any of the shards again"
        )
    return sheet


def _check(sheet: Mapping[str, Any]) -> None:
    """Raise KeyError, TypeError or ValueError if a field is not what a build writes."""
    _require(isinstance(sheet["plan_digest"], str) and _DIGEST.fullmatch(sheet["plan_digest"]), "plan_digest")
    formats, stems = sheet["formats"], sheet["shards"]
    _require(_texts(formats) and formats and set(formats) <= {*DATA_FORMATS}, "formats")
    _require(len(set(formats)) == len(formats), "formats")
    _require(_texts(stems) and all(_STEM.fullmatch(stem) and is_safe_path(stem) for stem in stems), "shards")
    _require(len({stem.casefold() for stem in stems}) == len(stems), "shards")
    _require(isinstance(sheet["cells"], list) and all(map(_is_cell, sheet["cells"])), "cells")
    _require(isinstance(sheet["needles"], list) and all(map(_is_needle, sheet["needles"])), "needles")
    _require(isinstance(sheet["recipe"], dict), "recipe")
    _require(isinstance(sheet["corpora"], list), "corpora")
    _require(_texts(sheet.get("notes", [])), "notes")
    TokenizerEntry.of(sheet["tokenizer"])
    for record in sheet["corpora"]:
        CorpusEntry.of(record)
    parts_of(sheet["parts"])


def _require(condition: object, field: str) -> None:
    if not condition:
        raise ValueError(f"its field {field} is not what a build writes")


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _is_cell(value: object) -> bool:
    """Whether it is a length, a depth or None, a control or None, and a number of rows."""
    if not isinstance(value, list) or len(value) != 4:
        return False
    length, depth, control, rows = value
    is_depth = depth is None or (isinstance(depth, int | float) and not isinstance(depth, bool) and 0 <= depth <= 100)
    return _is_whole(length) and _is_whole(rows) and is_depth and (control is None or isinstance(control, str))


def _is_needle(value: object) -> bool:
    """Whether it is the name of a part or None, and the needle of a cell."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    part, needle = value
    return (part is None or isinstance(part, str)) and isinstance(needle, str)
