"""Writes beside a harness's tasks which rows of which dataset they ask, and reads those rows when the tasks run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.read import rows_in
from niah_gen.errors import IntegrityError, NiahError
from niah_gen.export.base import ExportOptions, TaskSource, messages_of, reply_limit, sound
from niah_gen.export.task_rows import TaskRow
from niah_score.contract import Message, open_dataset

_SETTINGS = "niah_export.json"
_IDS = "niah_ids.txt"
_OPTIONS = ("system", "max_tokens", "more_tokens")


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
    """What exported tasks ask: the rows of a dataset, of some configs, and of those only `ids`, in that order."""

    dataset: Path
    configs: tuple[str, ...]
    ids: tuple[str, ...] | None
    options: ExportOptions

    def rows(self, config: str | None = None) -> list[AskedRow]:
        """The rows of one config, or all, in the order in which they are asked. Raises NiahError and its kinds."""
        places = None if self.ids is None else {name: place for place, name in enumerate(self.ids)}
        found = []
        for file in open_dataset(self.dataset).files():
            if config in (None, file.config):
                for row in rows_in(file.path):
                    if places is None or row["id"] in places:
                        found.append(self._asked(sound(row, file.path), file.config))
        return found if places is None else sorted(found, key=lambda row: places[row.id])

    def _asked(self, row: Mapping[str, Any], config: str) -> AskedRow:
        # A text stays a text, for models without a chat template, unless a system message stands before it.
        is_text = isinstance(row["prompt"], str) and not self.options.system
        prompt = row["prompt"] if is_text else messages_of(row, self.options)
        return AskedRow(row["id"], config, prompt, reply_limit(row, self.options), row)


def exported_tasks(folder: Path) -> ExportedTasks:
    """What the tasks in a folder ask. The variable NIAH_DATASET names the dataset's folder where that has moved.

    Raises NiahError where no dataset is, and IntegrityError for another one than was exported.
    """
    said = json.loads((folder / _SETTINGS).read_text("utf-8"))
    dataset = Path(os.environ.get("NIAH_DATASET") or said["dataset"])
    if not dataset.is_dir():
        raise NiahError(f"{dataset}: no such folder; set NIAH_DATASET to where dataset {said['digest8']} is now")
    found = open_dataset(dataset).manifest.digest8
    if found != said["digest8"]:
        raise IntegrityError(f"{dataset}: is dataset {found}, and these tasks ask {said['digest8']}; export them again")
    ids = None if said["is_whole"] else tuple((folder / _IDS).read_text("utf-8").split())
    options = ExportOptions(**{name: said[name] for name in _OPTIONS})
    return ExportedTasks(dataset, tuple(said["configs"]), ids, options)


def settings_files(source: TaskSource, rows: Sequence[TaskRow], options: ExportOptions) -> dict[str, str]:
    """The files that `exported_tasks` reads, by name: what was exported, and ids where that is not the whole."""
    said = {
        "dataset": os.path.abspath(source.dataset.folder),
        "digest8": source.dataset.manifest.digest8,
        "configs": configs_of(rows),
        "is_whole": source.is_whole,
        **{name: getattr(options, name) for name in _OPTIONS},
    }
    files = {_SETTINGS: json.dumps(said, ensure_ascii=False, indent=1) + "\n"}
    return files if source.is_whole else {**files, _IDS: "".join(f"{row.id}\n" for row in rows)}


def configs_of(rows: Sequence[TaskRow]) -> list[str]:
    """The configs of some rows, in their order."""
    return list(dict.fromkeys(row.config for row in rows))


def has_chats(source: TaskSource, options: ExportOptions) -> bool:
    """Whether harnesses have to send messages and not bare texts: the prompts are chats, or a system message is set."""
    if options.system:
        return True
    first = next(rows_in(source.dataset.files()[0].path))
    return not isinstance(first["prompt"], str)
