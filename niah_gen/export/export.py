"""Exports a dataset: chooses and orders rows, has a format write them aside, and moves the files into place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from niah_gen.errors import LockedError, NiahError, ResourceError, suggestion
from niah_gen.export.base import Chosen, ExportFormat, ExportOptions, WrittenFile, indexed
from niah_gen.export.choose import ORDERS, read_conditions, shared_percent, subset
from niah_gen.export.harnesses import HARNESSES
from niah_gen.export.loglikelihood import LOGLIKELIHOOD
from niah_gen.export.missing import answered
from niah_gen.export.opencompass import OPENCOMPASS
from niah_gen.export.requests import BATCHES, refuse_reserved
from niah_score.contract import open_dataset
from niah_score.errors import LockedError as HeldFolderError
from niah_score.errors import ResourceError as FullError
from niah_score.errors import ScoreError
from niah_score.machine.staging import STAGING, FileSet, hold

EXPORTS: dict[str, ExportFormat] = {**BATCHES, **HARNESSES, **OPENCOMPASS, "loglikelihood": LOGLIKELIHOOD}
# The name of each option on the command line.
_FLAGS = {
    "model": "--model", "fields": "--body", "system": "--system", "api": "--api", "max_tokens": "--max-tokens",
    "more_tokens": "--max-tokens", "max_requests": "--max-requests", "max_bytes": "--max-bytes",
    "task_modules": "--allow-task-module",
}  # fmt: skip


class Exported(NamedTuple):
    """The result of an export: its files with their full paths, how many rows, and sentences for the user."""

    files: tuple[WrittenFile, ...]
    rows: int
    notices: tuple[str, ...]


def export(
    folder: Path,
    to: str,
    out: Path,
    options: ExportOptions | None = None,
    *,
    only_missing: Sequence[Path] = (),
    conditions: Sequence[str] = (),
    order: str = "as-is",
    overwrite: bool = False,
) -> Exported:
    """Write the rows of a dataset folder into `out` in a format of EXPORTS.

    only_missing: answer files; rows with an answer in them are left out. conditions: `NAME=VALUE` words that choose
    rows. order: a name of ORDERS. Files appear once all are written; with `overwrite` they replace all files of an
    earlier export in this format. Raises NiahError and its kinds; ContractError if the folder is not a dataset.
    """
    options = options or ExportOptions()
    form = _format(to, options)
    if order not in ORDERS:
        raise NiahError(f"--order {order!r} is unknown{suggestion(order, ORDERS)}")
    asked = read_conditions(conditions)
    dataset = open_dataset(folder)
    if out.resolve().is_relative_to(folder.resolve()):
        raise NiahError(f"--out {out} lies in the dataset; name a folder outside it")
    if not (out / STAGING).exists():  # else some files may be a killed export's, which are removed first
        _refuse_existing(out, form, overwrite)
    every = indexed(dataset)
    if not every:
        raise NiahError(f"{folder}: no rows")
    rows, sentences = subset(every, asked)
    if only_missing:
        answers = answered(only_missing, every)
        rows = [row for row in rows if row.id not in answers.ids]
        sentences.append(
            f"{len(answers.ids):,} of {len(every):,} rows have an answer; {answers.errors:,} records are errors, "
            f"{answers.strangers:,} belong to no row here, {answers.broken:,} are unreadable"
        )
        if not rows:
            return Exported((), 0, (*sentences, "nothing is missing, so nothing was written"))
    rows = ORDERS[order](rows)
    if order == "prefix":
        sentences.append(f"a prefix cache can save {shared_percent(rows):.0f} % of the prompt tokens in this order")
    files: list[WrittenFile] = []

    def write(aside: Path) -> None:
        # Checked again under the lock: another export may have finished since.
        _refuse_existing(out, form, overwrite)
        chosen = Chosen(dataset, rows, rows == every)
        files.extend(form.write(chosen, aside, options))
        if form.advice is not None:
            sentences.append(form.advice(chosen, out, options))
        written = sum(file.rows for file in files)
        if written != len(rows):
            raise AssertionError(f"{written} rows written, {len(rows)} chosen")

    _replace(out, form, write)
    return Exported(tuple(file._replace(path=str(out / file.path)) for file in files), len(rows), tuple(sentences))


def _format(to: str, options: ExportOptions) -> ExportFormat:
    """The format with a name. Raises NiahError if there is none or the options do not fit it."""
    form = EXPORTS.get(to)
    if form is None:
        raise NiahError(f"--to {to!r} is unknown{suggestion(to, EXPORTS)}")
    for field, flag in _FLAGS.items():
        if getattr(options, field) and field not in form.takes:
            raise NiahError(f"{flag}: {to} has no use for it; {form.what}")
    if form.needs_model and not (options.model or "").strip():
        raise NiahError(f"--model: {to} names the model in every request; say which one, as the service spells it")
    for field in ("max_tokens", "max_requests", "max_bytes"):
        value = getattr(options, field)
        if value is not None and value < 1:
            raise NiahError(f"{_FLAGS[field]}: expected at least 1, found {value}")
    if options.api not in (None, "chat", "responses"):
        raise NiahError(f"--api {options.api!r}: expected chat or responses")
    refuse_reserved(form.reserved, options.fields)
    return form


def _refuse_existing(out: Path, form: ExportFormat, overwrite: bool) -> None:
    existing = sorted(out.glob(form.pattern))
    if existing and not overwrite:
        some = f"{existing[0]}" + (f" and {len(existing) - 1} more" if len(existing) > 1 else "")
        raise NiahError(f"{some}: from an earlier export; name another --out, or use --overwrite to replace them all")


def _replace(out: Path, form: ExportFormat, write: Callable[[Path], None]) -> None:
    """Put the files that `write` makes into `out` all at once, replacing those of an earlier export."""

    def there(folder: Path) -> list[str]:
        return sorted(path.relative_to(folder).as_posix() for path in folder.glob(form.pattern) if path.is_file())

    try:
        with hold(out, FileSet("an export", there), overwrite=True) as held:
            held.replace(write)
    except HeldFolderError:
        raise LockedError(f"{out}: another export is writing there; wait for it, or name another --out") from None
    except FullError as error:
        raise ResourceError(str(error)) from None
    except ScoreError as error:
        raise NiahError(str(error)) from None
