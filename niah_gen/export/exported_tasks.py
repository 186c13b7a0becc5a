"""Reads, when a harness runs exported tasks, which rows of which dataset they ask, and those rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.read import rows_in
from niah_gen.errors import IntegrityError, NiahError
from niah_gen.export.base import ExportOptions, messages_of, reply_limit, sound
from niah_gen.fields import WrongValueError
from niah_gen.recipe.values import parse_tokens
from niah_score.contract import DataFile, Message, open_dataset

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
        places = None if self.ids is None else {name: place for place, name in enumerate(self.ids)}
        rows = [
            self._asked(sound(row, file.path), file.config)
            for file in self._files(config)
            for row in rows_in(file.path)
            if places is None or row["id"] in places
        ]
        if places is not None:
            rows.sort(key=lambda row: places[row.id])
            if config is None and len(rows) != len(places):
                raise IntegrityError(
                    f"{self.dataset}: holds {len(rows)} of the {len(places)} rows that were exported; verify the "
                    "dataset, and export them again"
                )
        asked = {"config": config, "length": length, "language": language, "part": part}
        for name, value in asked.items():
            rows = _having(rows, name, value)
        return rows

    def _files(self, config: object) -> list[DataFile]:
        """The files with rows of a config, or of any of several; all files if one is unknown."""
        files = list(open_dataset(self.dataset).files())
        wanted = set(_listed(config))
        if config is None or not wanted <= {file.config for file in files}:
            return files
        return [file for file in files if file.config in wanted]

    def _asked(self, row: Mapping[str, Any], config: str) -> AskedRow:
        # A text stays a text, for models without a chat template, unless a system message precedes it.
        is_text = isinstance(row["prompt"], str) and not self.options.system
        prompt = row["prompt"] if is_text else messages_of(row, self.options)
        return AskedRow(row["id"], config, prompt, reply_limit(row, self.options), row)


def _having(rows: list[AskedRow], name: str, value: object) -> list[AskedRow]:
    """The rows whose coordinate has one of the values; all for None."""
    if value is None:
        return rows
    of_row = [row.config if name == "config" else row.columns.get(name) for row in rows]
    there = list(dict.fromkeys(str(one) for one in of_row if one is not None))
    wanted = _listed(value)
    if name == "length":
        try:
            wanted = [str(parse_tokens(one)) for one in wanted]
        except WrongValueError as error:
            raise NiahError(f"length={value}: {error}") from None
    for one in wanted:
        if one not in there:
            known = f"there are {', '.join(there)}" if there else f"these rows have no {name}"
            raise NiahError(f"{name}={one}: no row has it; {known}")
    return [row for row, has in zip(rows, of_row, strict=True) if has is not None and str(has) in wanted]


def _listed(value: object) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list | tuple) else [value])]


def exported_tasks(module: str) -> ExportedTasks:
    """What the tasks of a module ask; `module`: its `__file__`, beside which the files of an export are.

    The variable NIAH_DATASET names the dataset's folder if that has moved. Raises NiahError if the dataset or one of
    those files is missing, and IntegrityError if the dataset is not the one that was exported.
    """
    file = Path(module)
    settings = json.loads(_text_beside(file, "export.json"))
    dataset, wanted = Path(os.environ.get("NIAH_DATASET") or settings["dataset"]), settings["digest8"]
    if not dataset.is_dir():
        raise NiahError(f"{dataset}: no such folder; set NIAH_DATASET to where dataset {wanted} is now")
    digest8 = open_dataset(dataset).manifest.digest8
    if digest8 != wanted:
        raise IntegrityError(f"{dataset}: is dataset {digest8}, and these tasks ask {wanted}; export them again")
    ids = None if settings["is_whole"] else tuple(_text_beside(file, "ids.txt").split())
    options = ExportOptions(**{name: settings[name] for name in OPTIONS})
    return ExportedTasks(dataset, tuple(settings["configs"]), ids, options)


def _text_beside(module: Path, name: str) -> str:
    file = module.with_name(f"{module.stem}_{name}")
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise NiahError(
            f"{file}: cannot be read ({error.strerror}); keep the files of an export together, or export them again"
        ) from None
