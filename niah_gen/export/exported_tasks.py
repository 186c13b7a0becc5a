"""Records beside a harness's tasks which rows of which dataset they ask, and reads those rows when the tasks run."""

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
from niah_gen.recipe.values import WrongValueError, parse_tokens
from niah_score.contract import DataFile, Message, open_dataset

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
        wanted = {str(one) for one in (config if isinstance(config, list | tuple) else [config])}
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
    wanted = [str(one) for one in (value if isinstance(value, list | tuple) else [value])]
    if name == "length":
        wanted = [str(_length(one)) for one in wanted]
    for one in wanted:
        if one not in there:
            known = f"there are {', '.join(there)}" if there else f"these rows have no {name}"
            raise NiahError(f"{name}={one}: no row has it; {known}")
    return [row for row, has in zip(rows, of_row, strict=True) if has is not None and str(has) in wanted]


def _length(text: str) -> int:
    try:
        return parse_tokens(text)
    except WrongValueError as error:
        raise NiahError(f"length={text}: {error}") from None


def exported_tasks(module: str) -> ExportedTasks:
    """What the tasks of a module ask; `module`: its `__file__`, beside which the files of `settings_files` are.

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
    options = ExportOptions(**{name: settings[name] for name in _OPTIONS})
    return ExportedTasks(dataset, tuple(settings["configs"]), ids, options)


def _text_beside(module: Path, name: str) -> str:
    file = module.with_name(f"{module.stem}_{name}")
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise NiahError(
            f"{file}: cannot be read ({error.strerror}); keep the files of an export together, or export them again"
        ) from None


def settings_files(module: str, source: TaskSource, rows: Sequence[TaskRow], options: ExportOptions) -> dict[str, str]:
    """The files that `exported_tasks` reads for a module, by name: what was exported, and the ids unless that is all.

    Raises NiahError for a system message before rows that already have one.
    """
    if options.system:
        _refuse_second_system(source, options)
    settings = {
        "dataset": os.path.abspath(source.dataset.folder),
        "digest8": source.dataset.manifest.digest8,
        "configs": configs_of(rows),
        "is_whole": source.is_whole,
        **{name: getattr(options, name) for name in _OPTIONS},
    }
    files = {f"{module}_export.json": json.dumps(settings, ensure_ascii=False, indent=1) + "\n"}
    return files if source.is_whole else {**files, f"{module}_ids.txt": "".join(f"{row.id}\n" for row in rows)}


def _refuse_second_system(source: TaskSource, options: ExportOptions) -> None:
    chosen = set(source.ids)
    for file in source.dataset.files():
        for row in rows_in(file.path, ("id", "prompt")):
            if row["id"] in chosen:
                messages_of(row, options)


def configs_of(rows: Sequence[TaskRow]) -> list[str]:
    """The configs of some rows, in their order."""
    return list(dict.fromkeys(row.config for row in rows))


def has_chats(source: TaskSource, options: ExportOptions) -> bool:
    """Whether harnesses must send messages, not bare texts: the prompts are chats, or a system message is set."""
    if options.system:
        return True
    first = next(rows_in(source.dataset.files()[0].path))
    return not isinstance(first["prompt"], str)
