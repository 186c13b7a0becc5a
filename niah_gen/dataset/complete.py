"""Completes a dataset from the shards that were written: card, recipe and, last, the manifest.

What completing needs to know of the plan stands in a file of its own, so that shards that were built on several
machines are merged with neither corpora nor tokenizer. In a folder that exists already only files are replaced that it
lacks or holds damaged, and the manifest at the end (`moving`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from niah_gen.dataset.card import cell_rows, dataset_card
from niah_gen.dataset.card_text import CellRows
from niah_gen.dataset.folders import PARTIAL, SHEET, BuildFolders, forget, lock
from niah_gen.dataset.moving import move_in
from niah_gen.dataset.preview import chosen_rows, write_entry, write_preview
from niah_gen.dataset.shards import ShardRecord
from niah_gen.dataset.word_overlap import kept
from niah_gen.errors import IntegrityError, NiahError, listed
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.corpora import draw_entry
from niah_gen.rows.plan import Plan
from niah_score.contract import (
    CARD,
    MANIFEST,
    PREVIEW,
    RECIPE,
    SCHEMA_VERSION,
    VERSION,
    ContractError,
    CorpusEntry,
    Dataset,
    FileEntry,
    Manifest,
    PartEntry,
    TokenizerEntry,
    content_digest,
    file_problem,
    open_dataset,
)
from niah_score.machine.files import remove_all_but, sync_folder, write_atomically

Notice = Callable[[str], None]


def merge(folder: str | Path, notice: Notice | None = None) -> Path:
    """Check all parts that `build(shard=...)` wrote and complete the dataset; returns its folder.

    folder: the partial folder, the dataset folder it will become, or a folder that holds just one partial one.
    Raises IntegrityError listing every part that is missing or damaged.
    """
    target = _find_partial(Path(folder))
    tell = notice or (lambda sentence: None)
    with lock(target):
        if not (target.partial / SHEET).is_file():
            # A merge that was killed had only to remove what it no longer needed.
            dataset = open_dataset(target.final)
            forget_built(target, dataset.formats)
            if target.partial.exists():
                raise NiahError(f"{target.partial}: no part of a dataset here; the build that began it can go on")
            tell(f"{target.final} is complete already; nothing was merged")
            return target.final
        try:
            sheet = json.loads((target.partial / SHEET).read_text("utf-8"))
        except ValueError:
            raise IntegrityError(f"{target.partial / SHEET}: damaged; run any of the shards again") from None
        if set(sheet["formats"]) <= set(formats := intact_formats(target, sheet["plan_digest"])):
            forget_built(target, formats)
            tell(f"{target.final} is complete already; nothing was merged")
            return target.final
        records: list[ShardRecord] = []
        problems: list[str] = []
        for number, stem in enumerate(sheet["shards"]):
            record = usable_record(target, sheet["plan_digest"], number, sheet["formats"])
            if isinstance(record, ShardRecord):
                records.append(record)
            else:
                problems.append(f"file {number} ({stem}): {record}")
        if problems:
            head = f"{target.partial}: {len(problems)} files are not there; run their shards again"
            raise IntegrityError(listed(head, problems))
        for note in sheet.get("notes", ()):
            tell(note)
        return complete(target, sheet, records, tell)


def plan_sheet(plan: Plan, formats: Sequence[str]) -> dict[str, Any]:
    """All that completing a dataset needs to know of its plan, so that merging needs neither corpora nor tokenizer."""
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
    return {
        "plan_digest": plan.digest,
        "formats": list(formats),
        "shards": [shard.stem for shard in plan.shards],
        "cells": [list(cell) for cell in cell_rows((cell.length, cell.depth, cell.control) for cell in plan.cells)],
        "preview": chosen_rows(plan),
        "parts": parts,
        "recipe": plan.recipe.table(),
        "tokenizer": asdict(TokenizerEntry(plan.tokenizer.name, plan.tokenizer.sha256)),
        "corpora": [asdict(entry) for entry in corpora],
        "notes": list(plan.notes),
    }


def usable_record(target: BuildFolders, plan_digest: str, number: int, formats: Sequence[str]) -> ShardRecord | str:
    """The record of a shard whose files are all intact, or what is wrong."""
    path = target.record(number)
    if not path.is_file():
        return "not written"
    record = ShardRecord.from_bytes(path.read_bytes())
    if record is None:
        return f"{path.name} is damaged"
    if record.plan_digest != plan_digest:
        return "written for another plan"
    there = {entry.suffix for entry in record.files}
    if there != set(formats):
        return f"written as {', '.join(sorted(there))}, not as {', '.join(formats)}"
    problems = [problem for entry in record.files if (problem := file_problem(target.dataset, entry))]
    return "; ".join(problems) if problems else record


def complete(target: BuildFolders, sheet: Mapping[str, Any], records: Sequence[ShardRecord], tell: Notice) -> Path:
    """Write card, recipe and, last, the manifest; give the folder its name.

    What making the rows noticed is told; what planning noticed is only recorded beside it.
    """
    there = _intact_files(target, records)
    records = [
        replace(record, files=tuple(there.get(entry.path, entry) for entry in record.files)) for record in records
    ]
    recipe = load_recipe(sheet["recipe"], here=False)
    tokenizer = TokenizerEntry(**sheet["tokenizer"])
    corpora = tuple(map(CorpusEntry.of, sheet["corpora"]))
    parts = tuple(PartEntry(**entry) for entry in sheet["parts"])
    made = dict.fromkeys(note for record in records for note in record.notes)
    for note in made:
        tell(note)
    notes = tuple(dict.fromkeys((*sheet.get("notes", ()), *made)))
    digest = content_digest(digest for record in records for digest in record.digests)
    files = [write_entry(target.dataset / RECIPE, recipe.to_toml())]
    files += [entry for record in records for entry in record.files]
    format = sheet["formats"][0]
    of_format = [next(entry for entry in record.files if entry.suffix == format) for record in records]
    shown = [(target.dataset / of_format[number].path, place) for number, place in sheet["preview"]]
    files.append(write_preview(target.dataset, shown, format, recipe.form))
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
    # The card names the other files.
    cells = [CellRows(*cell) for cell in sheet["cells"]]
    overlap = kept(target.final, manifest.plan_digest)
    card = dataset_card(recipe, Dataset(target.final, manifest), cells, overlap)
    files.append(write_entry(target.dataset / CARD, card))
    manifest = replace(manifest, files=tuple(sorted(files, key=lambda entry: entry.path)))
    remove_all_but(target.dataset, {entry.path for entry in files})
    write_atomically(target.dataset / MANIFEST, manifest.to_json())
    if target.final.exists():
        new = {entry.path for entry in manifest.files}
        moved = [entry.path for entry in manifest.files if there.get(entry.path) != entry]
        # One in another format, from before this one was added.
        previews = [f"{PREVIEW}/{path.name}" for path in (target.final / PREVIEW).glob("*")]
        move_in(target.partial, target.final, moved, [path for path in previews if path not in new])
    else:
        target.dataset.rename(target.final)
    sync_folder(target.final.parent)
    forget(target)
    return target.final


def intact_formats(target: BuildFolders, plan_digest: str) -> tuple[str, ...]:
    """The formats of a finished dataset whose files are all intact; none if there is no such dataset.

    Raises IntegrityError if only the card was changed: those are somebody's own words, which building would replace.
    """
    try:
        dataset = open_dataset(target.final)
    except ContractError:
        return ()
    if dataset.manifest.plan_digest != plan_digest:
        return ()
    problems = {entry.path: file_problem(target.final, entry) for entry in dataset.manifest.files}
    damaged = [path for path, problem in problems.items() if problem]
    if damaged == [CARD] and (target.final / CARD).is_file():
        raise IntegrityError(
            f"{target.final / CARD}: changed since it was written; keep your words elsewhere and run "
            f"`niah-gen card {target.final}`, then build"
        )
    return () if damaged else dataset.formats


def forget_built(target: BuildFolders, formats: Sequence[str]) -> None:
    """Remove the partial folder of a dataset that is complete in some formats.

    It stays where finished shards are in it that have another one: a build in that format can go on from them.
    """
    for path in target.parts.glob("*.json"):
        record = ShardRecord.from_bytes(path.read_bytes())
        if record is not None and not {entry.suffix for entry in record.files} <= set(formats):
            return
    forget(target)


def _intact_files(target: BuildFolders, records: Sequence[ShardRecord]) -> dict[str, FileEntry]:
    """The intact files of a dataset that is there already and has the rows of these records."""
    try:
        manifest = open_dataset(target.final).manifest
    except ContractError:
        return {}
    if manifest.content_digest != content_digest(digest for record in records for digest in record.digests):
        return {}
    return {entry.path: entry for entry in manifest.files if file_problem(target.final, entry) is None}


def _find_partial(folder: Path) -> BuildFolders:
    folder = folder.resolve()
    candidates = [folder, folder.with_name(folder.name + PARTIAL)]
    if folder.is_dir():
        candidates += sorted(folder.glob(f"**/*{PARTIAL}"))
    found = [path for path in candidates if path.name.endswith(PARTIAL) and _is_partial(path)]
    if len(found) != 1:
        what = (
            "no part of a dataset" if not found else f"{len(found)} unfinished datasets ({', '.join(map(str, found))})"
        )
        raise NiahError(f"{folder}: {what} here; name the folder that `build --shard` printed, it ends in {PARTIAL}")
    return BuildFolders(found[0].with_name(found[0].name.removesuffix(PARTIAL)))


def _is_partial(folder: Path) -> bool:
    """Whether a folder holds parts, or held those of a dataset that is complete by now."""
    final = folder.with_name(folder.name.removesuffix(PARTIAL))
    return (folder / SHEET).is_file() or (final / MANIFEST).is_file()
