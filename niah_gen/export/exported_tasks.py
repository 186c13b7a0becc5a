"""Reads, when a harness runs exported tasks, which rows of which dataset they ask, and those rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.read import rows_in
from niah_gen.errors import IntegrityError, NiahError
from niah_gen.export.base import ExportOptions, Row, sound
from niah_gen.recipe.recipe import parse_tokens
from niah_score.contract import Message, open_dataset

# What a harness's tasks keep of the options of an export.
OPTIONS = ("system", "max_tokens", "more_tokens")


class AskedRow(NamedTuple):
    """A row as a harness asks it.

    prompt: a text, or chat messages. max_tokens: the most tokens of the answer. columns: the row as it was read.
    """

    id: str
    config: str
    prompt: str | list[Message]
    max_tokens: int
    columns: Mapping[str, Any]


class ExportedTasks(NamedTuple):
    """What exported tasks ask: the rows of some configs of a dataset; with `ids`, only those, in that order."""

    dataset: Path
    configs: tuple[str, ...]
    ids: tuple[str, ...] | None
    options: ExportOptions

    def rows(
        self, config: object = None, length: object = None, language: object = None, part: object = None
    ) -> list[AskedRow]:
        """The rows in the order in which they are asked; if a coordinate is given, only those that have it.

        A coordinate is a value, a list of values any of which matches, or None; lengths may be spelled 8k.
        Raises NiahError for a value that no row has, and IntegrityError for rows that cannot be asked.
        """
        files = list(open_dataset(self.dataset).files())
        of_config = [file for file in files if config is not None and file.config in _listed(config)]
        places = None if self.ids is None else {name: place for place, name in enumerate(self.ids)}
        rows = [
            self._asked(sound(row, file.path), file.config)
            for file in of_config or files
            for row in rows_in(file.path)
            if places is None or row["id"] in places
        ]
        if places is not None:
            rows.sort(key=lambda row: places[row.id])
            if config is None and len(rows) != len(places):
                held = f"holds {len(rows)} of the {len(places)} rows that were exported"
                raise IntegrityError(f"{self.dataset}: {held}; verify the dataset, and export them again")
        for name, value in {"config": config, "length": length, "language": language, "part": part}.items():
            if value is not None:
                rows = _having(rows, name, value)
        return rows

    def _asked(self, row: Row, config: str) -> AskedRow:
        # A text stays a text, for models without a chat template, unless a system message precedes it.
        is_text = isinstance(row["prompt"], str) and not self.options.system
        prompt = row["prompt"] if is_text else self.options.messages(row)
        return AskedRow(row["id"], config, prompt, self.options.limit(row), row)


def _having(rows: list[AskedRow], name: str, value: object) -> list[AskedRow]:
    """The rows whose coordinate has one of the values."""
    of_row = [row.config if name == "config" else row.columns.get(name) for row in rows]
    there = list(dict.fromkeys(str(one) for one in of_row if one is not None))
    # Of a length, that which 8k stands for too.
    wanted = [str(parse_tokens(one)) if name == "length" and one[:1].isdigit() else one for one in _listed(value)]
    for one in wanted:
        if one not in there:
            known = f"there are {', '.join(there)}" if there else f"these rows have no {name}"
            raise NiahError(f"{name}={one}: no row has it; {known}")
    return [row for row, has in zip(rows, of_row, strict=True) if has is not None and str(has) in wanted]


def _listed(value: object) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list | tuple) else [value])]


def exported_tasks(module: str) -> ExportedTasks:
    """What the tasks of a module ask; `module`: its `__file__`, beside which the files of an export are.

    The variable NIAH_DATASET names the dataset's folder if that has moved. Raises NiahError if the dataset is missing,
    FileNotFoundError if one of those files is, and IntegrityError if the dataset is not the one that was exported.
    """
    file = Path(module)
    settings = json.loads(file.with_name(f"{file.stem}_export.json").read_text("utf-8"))
    dataset, wanted = Path(os.environ.get("NIAH_DATASET") or settings["dataset"]), settings["digest8"]
    if not dataset.is_dir():
        raise NiahError(f"{dataset}: no such folder; set NIAH_DATASET to where dataset {wanted} is now")
    digest8 = open_dataset(dataset).manifest.digest8
    if digest8 != wanted:
        raise IntegrityError(f"{dataset}: is dataset {digest8}, and these tasks ask {wanted}; export them again")
    ids = None if settings["is_whole"] else tuple(file.with_name(f"{file.stem}_ids.txt").read_text("utf-8").split())
    options = ExportOptions(**{name: settings[name] for name in OPTIONS})
    return ExportedTasks(dataset, tuple(settings["configs"]), ids, options)
