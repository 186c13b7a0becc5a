"""Exports a dataset: chooses rows, orders them, has a format write them aside, and moves the files into place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from niah_gen.errors import LockedError, NiahError, suggestion
from niah_gen.export.base import ExportFormat, ExportOptions, TaskSource, WrittenFile
from niah_gen.export.choose import ORDERS, read_conditions, shared_percent, subset
from niah_gen.export.dataset_rows import indexed, rows_in_order
from niah_gen.export.missing import answered
from niah_gen.export.registry import EXPORTS
from niah_score.contract import open_dataset
from niah_score.machine.files import HeldError, locked, sync_folder

_LOCK = ".export.lock"
_ASIDE = ".export.tmp"
# How each option is called on the command line.
_FLAGS = {
    "model": "--model", "fields": "--body", "system": "--system", "api": "--api", "max_tokens": "--max-tokens",
    "more_tokens": "--max-tokens", "max_requests": "--max-requests", "max_bytes": "--max-bytes",
}  # fmt: skip


class Exported(NamedTuple):
    """What an export made: its files with their full paths, how many rows, and sentences about them."""

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
    rows. order: a name of ORDERS. Files appear when all are written; files of an earlier export in this format are
    replaced, all of them, where `overwrite` says so. Raises NiahError and its kinds; ContractError for what is no
    dataset.
    """
    options = options or ExportOptions()
    form = _format(to, options)
    if order not in ORDERS:
        raise NiahError(f"--order {order!r} is unknown{suggestion(order, ORDERS)}")
    asked = read_conditions(conditions)
    dataset = open_dataset(folder)
    if out.resolve().is_relative_to(folder.resolve()):
        raise NiahError(f"--out {out} lies in the dataset; name a folder outside of it")
    _refuse_existing(out, form, overwrite)
    every = indexed(dataset)
    if not every:
        raise NiahError(f"{folder}: no rows")
    rows, notices = subset(every, asked)
    said = list(notices)
    if only_missing:
        found = answered(only_missing, every)
        rows = [row for row in rows if row.id not in found.ids]
        said.append(
            f"{len(found.ids):,} of {len(every):,} rows have an answer; {found.errors:,} records are errors, "
            f"{found.strangers:,} of no row here, {found.broken:,} unreadable"
        )
        if not rows:
            return Exported((), 0, (*said, "nothing is missing, so nothing was written"))
    rows = ORDERS[order](rows)
    if order == "prefix":
        said.append(f"a prefix cache can save {shared_percent(rows):.0f} % of the prompt tokens in this order")
    with _aside(out) as aside:
        if form.write_tasks is not None:
            source = TaskSource(dataset, tuple(row.id for row in rows), rows == every)
            files = form.write_tasks(source, aside, options)
            if form.advice is not None:
                said.append(form.advice(source, out, options))
        else:
            assert form.write is not None
            files = form.write(rows_in_order(dataset, rows, form.columns, out), aside, options)
        written = sum(file.rows for file in files)
        if written != len(rows):
            raise AssertionError(f"{written} rows written, {len(rows)} chosen")
        # Checked again, under the lock: another export may have ended since.
        _refuse_existing(out, form, overwrite)
        _put_in_place(aside, out, form)
    return Exported(tuple(file._replace(path=str(out / file.path)) for file in files), len(rows), tuple(said))


def _format(to: str, options: ExportOptions) -> ExportFormat:
    """The format of a name, whose options make sense. Raises NiahError."""
    form = EXPORTS.get(to)
    if form is None:
        raise NiahError(f"--to {to!r} is unknown{suggestion(to, EXPORTS)}")
    for field, flag in _FLAGS.items():
        if getattr(options, field) and field not in form.takes:
            raise NiahError(f"{flag}: {to} has no use for it; {form.what}")
    if form.needs_model and not (options.model or "").strip():
        raise NiahError(f"--model: {to} names the model in every request; say which, as the service spells it")
    for field in ("max_tokens", "max_requests", "max_bytes"):
        value = getattr(options, field)
        if value is not None and value < 1:
            raise NiahError(f"{_FLAGS[field]}: expected at least 1, found {value}")
    if form.check is not None:
        form.check(options)
    return form


def _refuse_existing(out: Path, form: ExportFormat, overwrite: bool) -> None:
    existing = sorted(out.glob(form.pattern))
    if existing and not overwrite:
        some = f"{existing[0]}" + (f" and {len(existing) - 1} more" if len(existing) > 1 else "")
        raise NiahError(f"{some}: of an earlier export; name another --out, or say --overwrite to replace them all")


@contextmanager
def _aside(out: Path) -> Iterator[Path]:
    """A folder in `out` that nobody else writes to and that is gone afterwards. Raises LockedError."""
    made = not out.exists()
    try:
        with locked(out / _LOCK, remove=True):
            aside = out / _ASIDE
            shutil.rmtree(aside, ignore_errors=True)  # of an export that was killed
            aside.mkdir()
            try:
                yield aside
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    except HeldError:
        raise LockedError(f"{out}: another export writes there; wait for it, or name another --out") from None
    finally:
        if made and out.is_dir() and not any(out.iterdir()):
            out.rmdir()


def _put_in_place(aside: Path, out: Path, form: ExportFormat) -> None:
    """Move all files from aside into `out`, and remove what an earlier export left there beyond them."""
    new = sorted(path.relative_to(aside) for path in aside.rglob("*") if path.is_file())
    for path in new:
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (aside / path).replace(out / path)
    for folder in sorted({(out / path).parent for path in new}):
        sync_folder(folder)
    kept = {out / path for path in new}
    for path in sorted(out.glob(form.pattern)):
        if path not in kept and path.is_file():
            path.unlink()
