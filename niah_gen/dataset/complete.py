"""Completes a dataset from the shards that were written: card, recipe and, last, the manifest.

What completing needs to know about the plan is in a separate file, so that shards built on several machines can be
merged without corpora or tokenizer. In a dataset folder that exists already, only missing and damaged files are
replaced, and the manifest last (`moving`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from niah_gen.dataset.card import cell_rows, dataset_card
from niah_gen.dataset.card_text import CellRows
from niah_gen.dataset.folders import PARTIAL, SHEET, BuildFolders, forget, lock, refuse_links
from niah_gen.dataset.moving import move_in
from niah_gen.dataset.preview import write_entry, write_preview
from niah_gen.dataset.shards import MOST_RECORD_BYTES, ShardRecord
from niah_gen.dataset.sheet import read_sheet
from niah_gen.dataset.word_overlap import WordOverlap, kept
from niah_gen.errors import IntegrityError, NiahError, listed
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.corpora import draw_entry
from niah_gen.rows.plan import Plan
from niah_score.contract import (
    CARD,
    DATA_FORMATS,
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
    data_path,
    file_problem,
    open_dataset,
    parts_of,
    read_regular,
)
from niah_score.contract.regular_files import NoRegularFileError
from niah_score.machine.addresses import Address
from niah_score.machine.files import remove_all_but, sync_folder, write_atomically

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
            # Either a merge was killed during its cleanup, or a build is repairing the dataset.
            formats = intact_formats(target, open_dataset(target.final).manifest.plan_digest)
            if formats:
                forget_built(target, formats)
            if target.partial.exists():
                raise NiahError(f"{target.partial}: no shards to merge; run the build that began it again")
            tell(f"{target.final} is complete already; nothing was merged")
            return target.final
        sheet = read_sheet(target.partial / SHEET, target.final.name)
        if set(sheet["formats"]) <= set(formats := intact_formats(target, sheet["plan_digest"])):
            forget_built(target, formats)
            tell(f"{target.final} is complete already; nothing was merged")
            return target.final
        stems = dict(enumerate(sheet["shards"]))
        checked = {
            number: usable_record(target, sheet["plan_digest"], number, stem, sheet["formats"])
            for number, stem in stems.items()
        }
        records = intact_records(target.partial, stems, checked)
        for note in sheet.get("notes", ()):
            tell(note)
        return complete(target, sheet, records, tell)


def plan_sheet(plan: Plan, formats: Sequence[str]) -> dict[str, Any]:
    """What completing a dataset needs to know about its plan, so that merging needs neither corpora nor tokenizer."""
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
        "needles": [list(pair) for pair in dict.fromkeys((cell.part, cell.needle) for cell in plan.cells)],
        "parts": parts,
        "recipe": plan.recipe.table(),
        "tokenizer": asdict(TokenizerEntry(plan.tokenizer.name, plan.tokenizer.sha256)),
        "corpora": [asdict(entry) for entry in corpora],
        "notes": list(plan.notes),
    }


def usable_record(
    target: BuildFolders, plan_digest: str, number: int, stem: str, formats: Sequence[str]
) -> ShardRecord | str:
    """The record of a shard whose files are all intact, else what is wrong.

    `stem`: the path of its files without format folder and suffix.
    """
    path = target.record(number)
    try:
        record = _record_at(path)
    except FileNotFoundError:
        return "not written"
    if record is None:
        return f"{path.name} is damaged"
    if wrong := wrong_record(record, plan_digest, number, stem, formats):
        return wrong
    linked = [entry.path for entry in record.files if (target.dataset / entry.path).is_symlink()]
    if linked:
        return f"{linked[0]}: a symbolic link; its target is not part of the dataset"
    problems = [problem for entry in record.files if (problem := file_problem(target.dataset, entry))]
    return "; ".join(problems) if problems else record


def _record_at(path: Path) -> ShardRecord | None:
    """The record in a file; None if it is damaged, or no file. Raises FileNotFoundError."""
    try:
        data = b"" if path.is_symlink() else read_regular(path, MOST_RECORD_BYTES)
    except (NoRegularFileError, ValueError):
        return None
    return ShardRecord.from_bytes(data)


def wrong_record(record: ShardRecord, plan_digest: str, number: int, stem: str, formats: Sequence[str]) -> str | None:
    """Why an intact record is not the one that is needed; None if it is. Does not look at its files."""
    if record.plan_digest != plan_digest:
        return "written for another plan"
    known = {data_path(suffix, stem) for suffix in DATA_FORMATS}
    if record.number != number or not {entry.path for entry in record.files} <= known:
        return f"{number:05d}.json is another file's record"
    there = {entry.suffix for entry in record.files}
    if there != set(formats):
        return f"written as {', '.join(sorted(there))}, not as {', '.join(formats)}"
    return None


def intact_records(
    place: Path | Address, stems: Mapping[int, str], checked: Mapping[int, ShardRecord | str]
) -> list[ShardRecord]:
    """The records of all shards, in order; `checked` has the record of each, or what is wrong.

    Raises IntegrityError listing those that are missing or damaged; `place`: their partial folder or address.
    """
    problems = [
        f"file {number} ({stems[number]}): {record}" for number, record in checked.items() if isinstance(record, str)
    ]
    if problems:
        head = f"{place}: {len(problems)} files are missing or damaged; run their shards again"
        raise IntegrityError(listed(head, problems))
    return [record for record in checked.values() if isinstance(record, ShardRecord)]


def complete(target: BuildFolders, sheet: Mapping[str, Any], records: Sequence[ShardRecord], tell: Notice) -> Path:
    """Write card, recipe and, last, the manifest; give the folder its final name.

    tell: called with the notes from making the rows; those from planning are only recorded.
    """
    there = _intact_files(target, records)
    records = [
        replace(record, files=tuple(there.get(entry.path, entry) for entry in record.files)) for record in records
    ]
    manifest = describe(target.dataset, sheet, records, tell, kept(target.final, sheet["plan_digest"]))
    new = {entry.path for entry in manifest.files}
    remove_all_but(target.dataset, new)
    write_atomically(target.dataset / MANIFEST, manifest.to_json())
    if target.final.exists():
        moved = [entry.path for entry in manifest.files if there.get(entry.path) != entry]
        # A preview in another format is left from before this format was added.
        previews = [f"{PREVIEW}/{path.name}" for path in (target.final / PREVIEW).glob("*")]
        move_in(target.partial, target.final, moved, [path for path in previews if path not in new])
    else:
        target.dataset.rename(target.final)
    sync_folder(target.final.parent)
    forget(target)
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
    notes = tuple(dict.fromkeys((*sheet.get("notes", ()), *made)))
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


def forget_built(target: BuildFolders, formats: Sequence[str]) -> None:
    """Remove the partial folder of a dataset that is complete in `formats`.

    Keeps it if it holds finished shards in another format, which a build can reuse.
    """
    for path in target.parts.glob("*.json"):
        record = _record_at(path)
        if record is not None and not {entry.suffix for entry in record.files} <= set(formats):
            return
    forget(target)


def _intact_files(target: BuildFolders, records: Sequence[ShardRecord]) -> dict[str, FileEntry]:
    """The intact files of the dataset that exists already, by path, if it has the rows of these records."""
    try:
        manifest = open_dataset(target.final).manifest
    except ContractError:
        return {}
    if manifest.content_digest != content_digest(digest for record in records for digest in record.digests):
        return {}
    return {entry.path: entry for entry in manifest.files if file_problem(target.final, entry) is None}


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
