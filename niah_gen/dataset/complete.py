"""Completes a dataset from the shards that were written: recipe, preview, card and, last, the manifest.

What completing needs to know about the plan is in a file, plan.json, so that shards built on several machines can be
merged without corpora or tokenizer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from niah_gen.dataset.card import cell_rows, dataset_card
from niah_gen.dataset.card_text import CellRows
from niah_gen.dataset.folders import PARTIAL, SHEET, BuildFolders, finish, forget, lock, refuse_links
from niah_gen.dataset.preview import write_entry, write_preview
from niah_gen.dataset.shards import ShardRecord, written_record
from niah_gen.dataset.word_overlap import WordOverlap, kept
from niah_gen.errors import IntegrityError, NiahError, listed
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.corpora import draw_entry
from niah_gen.rows.plan import Plan
from niah_score.contract import (
    CARD,
    DATA_FORMATS,
    MANIFEST,
    RECIPE,
    SCHEMA_VERSION,
    SPLIT,
    VERSION,
    ContractError,
    CorpusEntry,
    Dataset,
    Manifest,
    PartEntry,
    TokenizerEntry,
    canonical_json,
    content_digest,
    file_problem,
    is_safe_path,
    open_dataset,
    parts_of,
    read_regular,
    seal_is_broken,
    sealed,
    strict_json,
)
from niah_score.machine.files import remove_all_but, write_atomically

# Enough for millions of shards and cells.
_MOST_SHEET_BYTES = 512 * 2**20
_STEM = re.compile(rf"[^/]+/{SPLIT}-\d{{5,9}}-of-\d{{5,9}}")
Notice = Callable[[str], None]


def merge(folder: str | Path, notice: Notice | None = None) -> Path:
    """Check all parts that `build(shard=...)` wrote and complete the dataset; returns its folder.

    folder: the partial folder, the dataset folder it will become, or a folder that holds exactly one partial folder.
    Raises IntegrityError listing every part that is missing or damaged.
    """
    target = _find_partial(Path(folder))
    tell = notice or (lambda sentence: None)
    with lock(target):
        if not (target.partial / SHEET).is_file():
            if not intact_formats(target, open_dataset(target.final).manifest.plan_digest):
                raise NiahError(f"{target.partial}: no shards to merge; run the build that began it again")
            forget(target)
            tell(f"{target.final} is complete already; nothing was merged")
            return target.final
        sheet = read_sheet(target.partial / SHEET, target.final.name)
        digest, formats = sheet["plan_digest"], sheet["formats"]
        if {*formats} <= {*intact_formats(target, digest)}:
            forget(target)
            tell(f"{target.final} is complete already; nothing was merged")
            return target.final
        stems = sheet["shards"]
        found = [written_record(target, digest, number, stem, formats) for number, stem in enumerate(stems)]
        records = [record for record in found if isinstance(record, ShardRecord)]
        if len(records) < len(found):
            head = f"{target.partial}: {len(found) - len(records)} files are missing or damaged; run their shards again"
            wrong = enumerate(zip(stems, found, strict=True))
            problems = [f"file {at} ({stem}): {what}" for at, (stem, what) in wrong if isinstance(what, str)]
            raise IntegrityError(listed(head, problems))
        for note in sheet["notes"]:
            tell(note)
        return complete(target, sheet, records, tell)


def plan_sheet(plan: Plan, formats: Sequence[str]) -> bytes:
    """The content of plan.json."""
    rows = Counter(cell.part for cell in plan.cells)
    parts = [
        asdict(PartEntry(part.name, part.weight, rows[part.name]))
        for part in plan.recipe.parts
        if part.name is not None
    ]
    used = {corpus.name: plan.usage(corpus) for corpus in plan.corpora}
    corpora = [
        CorpusEntry(
            corpus.name, len(corpus.files), corpus.sha256, len(corpus.documents), *used[corpus.name],
            corpus.license, corpus.source, draw_entry(corpus),
        )
        for corpus in plan.corpora
    ]  # fmt: skip
    sheet = {
        "plan_digest": plan.digest,
        "formats": list(formats),
        "shards": [shard.stem for shard in plan.shards],
        "cells": [list(cell) for cell in cell_rows((cell.length, cell.depth, cell.control) for cell in plan.cells)],
        "needles": [list(pair) for pair in dict.fromkeys((cell.part, cell.needle) for cell in plan.cells)],
        "parts": parts,
        "recipe": plan.recipe.table(),
        "tokenizer": asdict(TokenizerEntry(plan.tokenizer.name, plan.tokenizer.sha256)),
        "corpora": [asdict(entry) for entry in corpora],
        "notes": list(plan.notes),
    }
    return canonical_json(sealed(sheet))


def read_sheet(path: Path, name: str) -> dict[str, Any]:
    """The content of a dataset's plan.json. `name`: of the dataset's folder, which ends with the plan's digest.

    Partial folders may come from other machines, so nothing in them is trusted. Raises IntegrityError if plan.json is
    damaged, changed, not what a build writes, or another dataset's.
    """
    try:
        sheet = strict_json(read_regular(path, _MOST_SHEET_BYTES))
        if seal_is_broken(sheet) or "self_sha256" not in sheet:
            raise ValueError("its self_sha256 is not that of its other fields")
        for field, is_right in _FIELDS.items():
            if not is_right(sheet[field]):
                raise ValueError(f"its field {field} is not what a build writes")
        TokenizerEntry.of(sheet["tokenizer"])
        parts_of(sheet["parts"])
        for record in sheet["corpora"]:
            CorpusEntry.of(record)
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
    return sheet  # type: ignore[no-any-return]


def complete(target: BuildFolders, sheet: Mapping[str, Any], records: Sequence[ShardRecord], tell: Notice) -> Path:
    """Write recipe, preview, card and, last, the manifest; then give the folder its final name.

    tell: called with the notes from making the rows; those from planning are only recorded. Raises IntegrityError if a
    dataset of other rows has that name.
    """
    manifest = describe(target.dataset, sheet, records, tell, kept(target.final, sheet["plan_digest"]))
    there = _finished(target, sheet["plan_digest"])
    if there is not None and there.manifest.content_digest != manifest.content_digest:
        raise IntegrityError(
            f"{target.final}: its rows are not those that this version makes of the same plan; move that folder away, "
            "and run the same command again"
        )
    remove_all_but(target.dataset, {entry.path for entry in manifest.files})
    write_atomically(target.dataset / MANIFEST, manifest.to_json())
    finish(target)
    return target.final


def describe(
    folder: Path,
    sheet: Mapping[str, Any],
    records: Sequence[ShardRecord],
    tell: Notice,
    overlap: Sequence[WordOverlap] = (),
) -> Manifest:
    """Write recipe, preview and card into a folder; returns the manifest, which is not written yet."""
    recipe = load_recipe(sheet["recipe"], here=False)
    tokenizer = TokenizerEntry.of(sheet["tokenizer"])
    corpora = tuple(map(CorpusEntry.of, sheet["corpora"]))
    parts = parts_of(sheet["parts"])
    made = dict.fromkeys(note for record in records for note in record.notes)
    for note in made:
        tell(note)
    notes = tuple(dict.fromkeys((*sheet["notes"], *made)))
    digest = content_digest(digest for record in records for digest in record.digests)
    files = [write_entry(folder / RECIPE, recipe.to_toml())]
    files += [entry for record in records for entry in record.files]
    for record in records:
        if any(isinstance(row["prompt"], str) != (recipe.form == "text") for row in record.shown):
            raise IntegrityError(
                f"{folder}: the preview in record {record.number:05d}.json is not of form {recipe.form}; remove that "
                "record, and run its shard again"
            )
    shown = [row for record in records for row in record.shown]
    files.append(write_preview(folder, shown, sheet["formats"][0], recipe.form))
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        name=recipe.name,
        version=recipe.version,
        plan_digest=sheet["plan_digest"],
        content_digest=digest,
        generator_version=VERSION,
        tokenizer=tokenizer,
        corpora=corpora,
        rows=sum(len(record.digests) for record in records),
        tokens=sum(record.tokens for record in records),
        notes=notes,
        files=tuple(files),
        parts=parts,
    )
    # The card comes last, as it lists the other files.
    cells = [CellRows(*cell) for cell in sheet["cells"]]
    needles = ((part, needle) for part, needle in sheet["needles"])
    files.append(write_entry(folder / CARD, dataset_card(recipe, Dataset(folder, manifest), cells, needles, overlap)))
    return replace(manifest, files=tuple(sorted(files, key=lambda entry: entry.path)))


def intact_formats(target: BuildFolders, plan_digest: str) -> tuple[str, ...]:
    """The formats of the finished dataset of a plan if its files are all intact; none if there is no such dataset.

    Raises IntegrityError if only the card was changed: somebody wrote in it, and building would replace that.
    """
    dataset = _finished(target, plan_digest)
    if dataset is None:
        return ()
    problems = {entry.path: file_problem(target.final, entry) for entry in dataset.manifest.files}
    damaged = [path for path, problem in problems.items() if problem]
    if damaged == [CARD] and (target.final / CARD).is_file():
        raise IntegrityError(
            f"{target.final / CARD}: changed since it was written; save your text elsewhere and run "
            f"`niah-gen card {target.final}`, then build"
        )
    return () if damaged else dataset.formats


def built_formats(target: BuildFolders, plan_digest: str) -> tuple[str, ...]:
    """The formats of the finished dataset of a plan, intact or not; none if there is no such dataset."""
    dataset = _finished(target, plan_digest)
    return () if dataset is None else dataset.formats


def _finished(target: BuildFolders, plan_digest: str) -> Dataset | None:
    try:
        dataset = open_dataset(target.final)
    except ContractError:
        return None
    return dataset if dataset.manifest.plan_digest == plan_digest else None


def _find_partial(folder: Path) -> BuildFolders:
    named = folder
    if folder.is_symlink():
        refuse_links(BuildFolders(folder.with_name(folder.name.removesuffix(PARTIAL))))
    folder = folder.resolve()
    candidates = [folder, folder.with_name(folder.name + PARTIAL)]
    if folder.is_dir():
        # Only as deep as builds put datasets into a folder: this one may be a whole disk.
        candidates += sorted({*folder.glob(f"*{PARTIAL}"), *folder.glob(f"*/*{PARTIAL}")})
    partial = [path for path in candidates if path.name.endswith(PARTIAL) and _is_partial(path)]
    if len(partial) == 1:
        return BuildFolders(partial[0].with_name(partial[0].name.removesuffix(PARTIAL)))
    if len(partial) > 1:
        shown = ", ".join(map(str, partial[:3])) + (", ..." if len(partial) > 3 else "")
        what = f"{len(partial)} unfinished datasets here ({shown})"
    elif not folder.exists():
        what = "no such folder"
    elif not folder.is_dir():
        what = "a file, not a folder"
    elif (folder / MANIFEST).is_file():
        raise NiahError(f"{named}: is a finished dataset; there is nothing to merge")
    else:
        what = "no unfinished dataset here"
    raise NiahError(f"{named}: {what}; name the folder that `build --shard` printed, which ends in {PARTIAL}")


def _is_partial(folder: Path) -> bool:
    """Whether a folder holds parts, or was left by a merge that was killed after completing the dataset."""
    final = folder.with_name(folder.name.removesuffix(PARTIAL))
    return (folder / SHEET).is_file() or (folder.is_dir() and (final / MANIFEST).is_file())


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _are_shards(value: Any) -> bool:
    return (
        _is_texts(value)
        and all(_STEM.fullmatch(stem) and is_safe_path(stem) for stem in value)
        and len({stem.casefold() for stem in value}) == len(value)
    )


def _are_cells(value: object) -> bool:
    """Whether each is a length, a depth or None, a control or None, and a number of rows."""
    return isinstance(value, list) and all(
        isinstance(cell, list)
        and len(cell) == 4
        and all(type(number) is int and 0 <= number < 2**62 for number in (cell[0], cell[3]))
        and (cell[1] is None or (type(cell[1]) in (int, float) and 0 <= cell[1] <= 100))
        and (cell[2] is None or isinstance(cell[2], str))
        for cell in value
    )


def _are_needles(value: object) -> bool:
    """Whether each is the name of a part or None, and the needle of a cell."""
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and _is_texts([pair[0] or "", pair[1]]) for pair in value
    )


# Whether a field of plan.json is what a build writes.
_FIELDS: dict[str, Callable[[Any], object]] = {
    "plan_digest": lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value),
    "formats": lambda value: _is_texts(value) and value and {*value} <= {*DATA_FORMATS} and len({*value}) == len(value),
    "shards": _are_shards,
    "cells": _are_cells,
    "needles": _are_needles,
    "recipe": lambda value: isinstance(value, dict),
    "corpora": lambda value: isinstance(value, list),
    "notes": _is_texts,
}
