"""Completes a dataset that was made aside, and gives it its name: in a folder by a rename, at an address file by file.

    <name>/<version>-<digest8>/            the dataset
    <name>/<version>-<digest8>.partial/    work in progress: data files, and part-I-of-N.json of each shard

The manifest is written last. From then on the dataset is whole, and whoever holds its lock moves it to its name: one
rename, or file by file into a dataset that is there already, the manifest last. So a command that is killed meanwhile
does no harm: the next one finishes the moves.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from niah_gen.dataset.card import dataset_card, kept_overlap, read_overlap
from niah_gen.dataset.preview import write_entry, write_preview
from niah_gen.dataset.read import columns_in
from niah_gen.dataset.shards import Written
from niah_gen.errors import IntegrityError, LockedError, NiahError, listed
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
    canonical_json,
    content_digest,
    data_path,
    file_problem,
    is_safe_path,
    open_dataset,
    parts_of,
    read_manifest,
    read_regular,
    seal_is_broken,
    sealed,
    strict_json,
)  # fmt: skip
from niah_score.errors import AddressError
from niah_score.machine.addresses import (
    Address,
    fetch,
    objects_below,
    parse_address,
    put_new_object,
    read_object,
    remove_objects,
    upload,
)  # fmt: skip
from niah_score.machine.fetched import manifest_at, named_by_address
from niah_score.machine.files import (
    HeldError,
    locked,
    move_file,
    remove_all_but,
    remove_aside,
    remove_folder,
    sync_folder,
    write_atomically,
)  # fmt: skip
from niah_score.machine.scratch import scratch_folder
from niah_score.text.visible import one_line

PARTIAL = ".partial"
# Enough for millions of rows.
_MOST_PART_BYTES = 512 * 2**20
_WAIT_SECONDS = 5
Notice = Callable[[str], None]


def partial_of(final: Path) -> Path:
    """The folder of an unfinished dataset."""
    return final.with_name(final.name + PARTIAL)


@contextmanager
def lock(final: Path, part: str | None = None) -> Iterator[None]:
    """Lock a whole dataset, or one part of it, against other builders. Raises LockedError.

    A killed holder leaves no lock. Parts may be built at the same time, but not at the same time as the whole: that
    takes the lock of every part, too, and a part takes the whole's lock for a moment before it begins. Finishes what a
    killed command was moving.
    """
    whole = final.with_name(f".{final.name}.build.lock")
    with ExitStack() as held:
        try:
            if part is not None:
                held.enter_context(locked(final.with_name(f".{final.name}.{part}.lock")))
                # Other parts take it too, each for a moment.
                with locked(whole, _WAIT_SECONDS):
                    _finish(final)
            else:
                held.enter_context(locked(whole))
                for path in sorted(final.parent.glob(f".{final.name}.part-*.lock")):
                    held.enter_context(locked(path))
                _finish(final)
                remove_aside([final / CARD, final / MANIFEST])
        except HeldError as error:
            raise LockedError(
                f"{final}: another process is building it ({error.path} is held); wait for it to end"
            ) from None
        yield


def _finish(final: Path) -> None:
    """Move a whole dataset to its name, and remove the partial folder; does nothing if it is not whole.

    Raises IntegrityError if anything in either is a link: what is written there would land outside the folder.
    """
    partial = partial_of(final)
    for top in (final, partial):
        for linked in filter(Path.is_symlink, [top, *top.rglob("*")]):
            raise IntegrityError(
                f"{linked}: a symbolic link, which is not followed: what is built would land outside the folder; "
                "remove it, or build into another folder with --out"
            )
    if not (partial / MANIFEST).is_file():
        return
    try:
        wanted = [entry.path for entry in read_manifest(partial).files]
    except ContractError:
        wanted = []
    if not wanted or not all((partial / path).is_file() or (final / path).is_file() for path in wanted):
        # Damaged, or somebody has moved the dataset away since: it has to be built again.
        (partial / MANIFEST).unlink()
        return
    remove_all_but(partial, {*wanted, MANIFEST})
    if final.exists():
        # Until the manifest is replaced, the old one is valid for whoever reads rows: those files stay the same.
        here = [path for path in wanted if (partial / path).is_file()]
        for path in sorted(here, key=lambda path: ((final / path).exists(), path == CARD, path)):
            move_file(partial / path, final / path)
        for preview in (final / PREVIEW).glob("*"):
            if f"{PREVIEW}/{preview.name}" not in wanted:
                preview.unlink()  # in the format of a smaller set of formats
        move_file(partial / MANIFEST, final / MANIFEST)
        remove_folder(partial)
    else:
        partial.rename(final)
    sync_folder(final.parent)


def finished(final: Path, plan_digest: str) -> Dataset | None:
    """The finished dataset of a plan, intact or not; None if there is no such dataset."""
    try:
        dataset = open_dataset(final)
    except ContractError:
        return None
    return dataset if dataset.manifest.plan_digest == plan_digest else None


def is_intact(dataset: Dataset) -> bool:
    """Whether all files of a dataset are intact.

    Raises IntegrityError if only the card was changed: somebody wrote in it, and building would replace that.
    """
    damaged = [entry.path for entry in dataset.manifest.files if file_problem(dataset.folder, entry)]
    if damaged == [CARD] and (dataset.folder / CARD).is_file():
        raise IntegrityError(
            f"{dataset.folder / CARD}: changed since it was written; save your text elsewhere and run "
            f"`niah-gen card {dataset.folder}`, then build"
        )
    return not damaged


def facts_of(plan: Plan, formats: Sequence[str]) -> dict[str, Any]:
    """What completing a dataset needs to know about its plan, as JSON: shards are merged without corpora."""
    rows = Counter(cell.part for cell in plan.cells)
    cells = Counter((cell.length, cell.depth, cell.control, cell.part, cell.needle) for cell in plan.cells)
    parts = [PartEntry(part.name, part.weight, rows[part.name]) for part in plan.recipe.parts if part.name is not None]
    corpora = [
        CorpusEntry(
            corpus.name, len(corpus.files), corpus.sha256, len(corpus.documents), *plan.usage(corpus), corpus.license,
            corpus.source, draw_entry(corpus),
        )
        for corpus in plan.corpora
    ]  # fmt: skip
    return {
        "plan_digest": plan.digest,
        "formats": list(formats),
        "shards": [shard.stem for shard in plan.shards],
        "cells": [[*cell, rows] for cell, rows in cells.items()],
        "parts": list(map(asdict, parts)),
        "recipe": plan.recipe.table(),
        "tokenizer": asdict(TokenizerEntry(plan.tokenizer.name, plan.tokenizer.sha256)),
        "corpora": list(map(asdict, corpora)),
        "notes": list(plan.notes),
    }


def complete(final: Path, facts: Mapping[str, Any], shards: Sequence[Written], tell: Notice) -> Path:
    """Write recipe, preview, card and, last, the manifest beside the data files; then give the folder its name.

    tell: called with the notes from making the rows; those from planning are only recorded. Raises IntegrityError if a
    dataset of other rows has that name.
    """
    folder, digest = partial_of(final), facts["plan_digest"]
    recipe = load_recipe(facts["recipe"], here=False)
    made = dict.fromkeys(note for shard in shards for note in shard.notes)
    for note in made:
        tell(note)
    files = [write_entry(folder / RECIPE, recipe.to_toml()), *(entry for shard in shards for entry in shard.files)]
    shown = [row for shard in shards for row in shard.shown]
    files.append(write_preview(folder, shown, facts["formats"][0], recipe.form))
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        name=recipe.name,
        version=recipe.version,
        plan_digest=digest,
        content_digest=content_digest(digest for shard in shards for digest in shard.digests),
        generator_version=VERSION,
        tokenizer=TokenizerEntry.of(facts["tokenizer"]),
        corpora=tuple(map(CorpusEntry.of, facts["corpora"])),
        rows=sum(len(shard.digests) for shard in shards),
        tokens=sum(shard.tokens for shard in shards),
        notes=tuple(dict.fromkeys((*facts["notes"], *made))),
        files=tuple(files),
        parts=parts_of(facts["parts"]),
    )
    there = finished(final, digest)
    if there is not None and there.manifest.content_digest != manifest.content_digest:
        raise IntegrityError(
            f"{final}: its rows are not those that this version makes of the same plan; move that folder away, and run "
            "the same command again"
        )
    # The card comes last, as it lists the other files.
    cells = {tuple(cell): rows for *cell, rows in facts["cells"]}
    card = dataset_card(recipe, Dataset(folder, manifest), cells, kept_overlap(final, digest))
    files.append(write_entry(folder / CARD, card))
    manifest = replace(manifest, files=tuple(sorted(files, key=lambda entry: entry.path)))
    write_atomically(folder / MANIFEST, manifest.to_json())
    _finish(final)
    return open_dataset(final).folder


def rewrite_card(folder: str | Path, *word_overlap: str | Path) -> Path:
    """Rewrite a dataset's card from its recipe, its manifest and the coordinates of its rows; returns its path.

    word_overlap: folders with the scores of systems that only match words, for the card to state; without any, the
    figures already in the card are kept. Raises ContractError if the folder is not a dataset, NiahError if the scores
    cannot be read or do not cover all its rows, IntegrityError if they are another dataset's or rows cannot be read,
    LockedError if another process is building the dataset.
    """
    folder = Path(folder)
    dataset = open_dataset(folder)
    final = folder.resolve()
    # Nobody can be building there if the folder above is not writable.
    with lock(final) if os.access(final.parent, os.W_OK) else nullcontext():
        manifest = dataset.manifest
        overlap = [read_overlap(Path(scores), manifest) for scores in word_overlap]
        recipe = load_recipe(folder / RECIPE, here=False)
        names = ("length", "depth_percent", "control", "part", "needle_id")
        rows = (row for file in dataset.files() for row in columns_in(file.path, names))
        cells = Counter((row["length"] or 0, *(row[name] for name in names[1:])) for row in rows)
        card = dataset_card(recipe, dataset, cells, overlap or kept_overlap(folder, manifest.plan_digest))
        written = write_entry(folder / CARD, card)
        files = tuple(written if entry.path == CARD else entry for entry in manifest.files)
        write_atomically(folder / MANIFEST, replace(manifest, files=files).to_json())
    return folder / CARD


def write_part(final: Path, part: str, facts: Mapping[str, Any], shards: Mapping[int, Written]) -> None:
    """Write what a part of a build adds to the dataset, once its data files are there."""
    written = {
        str(number): {**shard._asdict(), "files": [asdict(entry) for entry in shard.files]}
        for number, shard in shards.items()
    }
    data = canonical_json(sealed({"plan": facts, "shards": written}))
    write_atomically(partial_of(final) / f"{part}.json", data)


def merge(folder: str | Path, notice: Notice | None = None) -> Path:
    """Check all parts that `build(shard=...)` wrote and complete the dataset; returns its folder.

    folder: the partial folder, the dataset folder it will become, or a folder that holds exactly one partial folder.
    It may come from other machines, so nothing in it is trusted. Raises IntegrityError listing every file that is
    missing or damaged.
    """
    final = _target_in(Path(folder))
    partial = partial_of(final)
    tell = notice or (lambda sentence: None)
    with lock(final):
        parts = sorted(partial.glob("part-*.json"))
        if not parts and (final / MANIFEST).is_file():
            remove_folder(partial)  # left by a command that was killed at its end
            tell(f"{final} is complete already; nothing was merged")
            return final
        shards: dict[int, Written] = {}
        facts: dict[str, Any] = {"shards": []}
        try:
            for path in parts:
                facts, of_part = _read_part(path, final.name)
                shards |= of_part
            stems = dict(enumerate(facts["shards"]))
            wrong = {n: _wrong_files(partial, facts["formats"], stem, shards.get(n)) for n, stem in stems.items()}
            if problems := [f"file {n} ({stems[n]}): {problem}" for n, problem in wrong.items() if problem]:
                head = f"{partial}: {len(problems)} files are missing or damaged; run their shards again"
                raise IntegrityError(listed(head, problems))
            for note in facts["notes"]:
                tell(note)
            return complete(final, facts, [shards[number] for number in stems], tell)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise IntegrityError(f"{partial}: holds what no build writes ({error}); run its shards again") from None


def _read_part(path: Path, name: str) -> tuple[dict[str, Any], dict[int, Written]]:
    """The plan's facts and the shards of a part. `name`: of the dataset's folder, which ends with the plan's digest.

    Raises ValueError, KeyError, TypeError, AttributeError or RecursionError if it is not what a build writes.
    """
    record = strict_json(read_regular(path, _MOST_PART_BYTES))
    if seal_is_broken(record):
        raise ValueError(f"{path.name}: its self_sha256 is not that of its other fields")
    if not name.endswith(f"-{record['plan']['plan_digest'][:8]}"):
        raise ValueError(f"{path.name} belongs to dataset {record['plan']['plan_digest'][:8]}")
    return record["plan"], {
        int(number): Written(**{**shard, "files": tuple(map(FileEntry.of, shard["files"]))})
        for number, shard in record["shards"].items()
    }


def _wrong_files(partial: Path, formats: Sequence[str], stem: str, shard: Written | None) -> str:
    """What is wrong with the files of a shard, whose path is `stem` without format folder and suffix."""
    if shard is None:
        return "not written"
    names = [entry.path for entry in shard.files]
    if names != [data_path(suffix, stem) for suffix in formats] or not all(map(is_safe_path, names)):
        return f"written as {one_line(', '.join(names))}, not as {', '.join(formats)}"
    return "; ".join(problem for entry in shard.files if (problem := file_problem(partial, entry)))


def _target_in(folder: Path) -> Path:
    """The dataset that the parts in a folder become."""
    named, folder = folder, folder.absolute()
    beside = [folder, folder.with_name(folder.name + PARTIAL)]
    # Only as deep as builds put datasets into a folder: this one may be a whole disk.
    partial = {path for path in beside if path.name.endswith(PARTIAL) and path.is_dir()}
    partial |= {*folder.glob(f"*{PARTIAL}"), *folder.glob(f"*/*{PARTIAL}")}
    if len(partial) == 1:
        path = partial.pop()
        return path.with_name(path.name.removesuffix(PARTIAL))
    if partial:
        what = f"{len(partial)} unfinished datasets here ({', '.join(map(str, sorted(partial)[:3]))})"
    elif (folder / MANIFEST).is_file():
        raise NiahError(f"{named}: is a finished dataset; there is nothing to merge")
    else:
        what = "no unfinished dataset here" if folder.is_dir() else "no such folder"
        what = "a file, not a folder" if folder.exists() and not folder.is_dir() else what
    raise NiahError(f"{named}: {what}; name the folder that `build --shard` printed, which ends in {PARTIAL}")


def finished_at(goal: Address, plan_digest: str, formats: Sequence[str]) -> bool:
    """Whether the finished dataset of a plan is at an address, with all objects by size.

    Raises NiahError if it is there without a format, IntegrityError if it is another plan's or not whole.
    """
    there = objects_below(goal)
    if MANIFEST not in there:
        return False
    manifest = manifest_at(goal)
    if manifest.plan_digest != plan_digest:
        raise IntegrityError(f"{goal}: holds the finished dataset of another plan; choose another --out")
    lacking = {*formats} - {entry.suffix for entry in manifest.files if entry.rows is not None}
    if lacking:
        raise NiahError(
            f"{goal}: is finished, without {', '.join(sorted(lacking))}, and a finished dataset at an address is never "
            "changed; build it again with all formats at another --out"
        )
    wrong = [e.path for e in manifest.files if e.path not in there or there[e.path].bytes != e.bytes]
    if wrong:
        head = f"{goal}: is finished, but {len(wrong)} of its objects are missing or of another size"
        raise IntegrityError(listed(f"{head}; copy it again, or remove it and build it again", [*map(one_line, wrong)]))
    return True


def send(folder: Path, goal: Address) -> Address:
    """Upload a dataset, or a partial one, and return its address; a whole one replaces the shards beside it.

    Raises IntegrityError if other objects are there.
    """
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    others = [] if goal.name.endswith(PARTIAL) else sorted({*objects_below(goal)} - names)
    if others:
        head = f"{goal}: {len(others)} objects there are not part of the dataset; remove them, or choose another --out"
        raise IntegrityError(listed(head, [*map(one_line, others)]))
    for name in sorted(names - {MANIFEST}):  # a part's record follows its data files
        upload(folder / name, goal / name)
    if MANIFEST in names:
        data = (folder / MANIFEST).read_bytes()
        if not put_new_object(goal / MANIFEST, data) and read_object(goal / MANIFEST) != data:
            raise IntegrityError(f"{goal}: another build has finished there, and its {MANIFEST} differs; verify it")
        shards = Address(f"{goal}{PARTIAL}")
        remove_objects(shards / name for name in sorted(objects_below(shards)))
    return goal


def merge_at(address: str, notice: Notice | None = None) -> str:
    """Check all shards that `build --shard` wrote at an address and complete the dataset; returns its address.

    address: of the partial dataset, of the dataset, or one with a single partial dataset below it. The shards are
    fetched. Raises IntegrityError.
    """
    asked = parse_address(address)
    top = asked if asked.name.endswith(PARTIAL) else Address(f"{asked}{PARTIAL}")
    places = {top / name for name in objects_below(top)} or {asked / name for name in objects_below(asked)}
    partials = sorted(
        {place.text.partition(f"{PARTIAL}/part-")[0] for place in places if f"{PARTIAL}/part-" in place.text}
    )
    if len(partials) != 1:
        what = (
            f"{len(partials)} unfinished datasets ({one_line(', '.join(partials))})"
            if partials
            else "no unfinished dataset"
        )
        raise AddressError(f"{asked}: {what} here; name the one that `build --shard` printed, which ends in {PARTIAL}")
    goal = Address(partials[0])
    partial = Address(f"{goal}{PARTIAL}")
    with scratch_folder() as scratch, named_by_address(scratch, goal.parent):
        for name in objects_below(partial):
            if not is_safe_path(name):
                raise IntegrityError(f"{partial}: {one_line(name)!r} is not the name of a file; remove it")
            fetch(partial / name, scratch / partial.name / name)
        send(merge(scratch / partial.name, notice), goal)
    return str(goal)
