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
from typing import NamedTuple

from niah_gen.dataset.card import Cells, dataset_card, write_entry, write_preview
from niah_gen.dataset.read import columns_in
from niah_gen.dataset.shards import Written
from niah_gen.errors import IntegrityError, LockedError, NiahError, listed
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.plan import Plan, draw_entry
from niah_score import contract
from niah_score.contract import CARD, MANIFEST, PREVIEW, RECIPE, Dataset, Manifest, open_dataset
from niah_score.errors import LockedError as HeldError
from niah_score.machine import files, stores
from niah_score.machine.stores import Address, copies_of, manifest_at
from niah_score.text.visible import one_line

PARTIAL = ".partial"
# Enough for millions of rows.
_MOST_PART_BYTES = 512 * 2**20
_WAIT_SECONDS = 5
Notice = Callable[[str], None]


class Facts(NamedTuple):
    """What completing a dataset needs to know about its plan.

    manifest: without files and counts; stems: the paths of all data files without format folder and suffix; cells: how
    many rows have a length, depth, control, part and needle, in this order.
    """

    manifest: Manifest
    recipe: Recipe
    formats: tuple[str, ...]
    stems: tuple[str, ...]
    cells: Cells


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
                held.enter_context(files.locked(final.with_name(f".{final.name}.{part}.lock")))
                with files.locked(whole, _WAIT_SECONDS):  # other parts take it too, each for a moment
                    _finish(final)
            else:
                for path in (whole, *sorted(final.parent.glob(f".{final.name}.part-*.lock"))):
                    held.enter_context(files.locked(path))
                _finish(final)
                files.remove_aside([final / CARD, final / MANIFEST])
        except HeldError as error:
            raise LockedError(f"{final}: another process is building it ({error})") from None
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
        wanted = [entry.path for entry in contract.read_manifest(partial).files]
    except contract.ContractError:
        wanted = []
    if not wanted or not all((partial / path).is_file() or (final / path).is_file() for path in wanted):
        # Damaged, or somebody has moved the dataset away since: it has to be built again.
        (partial / MANIFEST).unlink()
        return
    files.remove_all_but(partial, {*wanted, MANIFEST})
    if final.exists():
        # Until the manifest is replaced, the old one is valid for whoever reads rows: those files stay the same.
        here = [path for path in wanted if (partial / path).is_file()]
        for path in sorted(here, key=lambda path: ((final / path).exists(), path == CARD, path)):
            files.move_file(partial / path, final / path)
        for preview in (final / PREVIEW).glob("*"):
            if f"{PREVIEW}/{preview.name}" not in wanted:
                preview.unlink()  # in the format of a smaller set of formats
        files.move_file(partial / MANIFEST, final / MANIFEST)
        files.remove_folder(partial)
    else:
        partial.rename(final)
    files.sync_folder(final.parent)


def finished(final: Path, plan_digest: str) -> Dataset | None:
    """The finished dataset of a plan, intact or not; None if there is no such dataset."""
    try:
        dataset = open_dataset(final)
    except contract.ContractError:
        return None
    return dataset if dataset.manifest.plan_digest == plan_digest else None


def is_intact(dataset: Dataset) -> bool:
    """Whether all files of a dataset are intact.

    Raises IntegrityError if only the card was changed: somebody wrote in it, and building would replace that.
    """
    folder = dataset.folder
    damaged = [entry.path for entry in dataset.manifest.files if contract.file_problem(folder, entry)]
    if damaged == [CARD] and (folder / CARD).is_file():
        what = f"changed since it was written; save your text elsewhere and run `niah-gen card {folder}`, then build"
        raise IntegrityError(f"{folder / CARD}: {what}")
    return not damaged


def facts_of(plan: Plan, formats: tuple[str, ...]) -> Facts:
    """What completing the dataset of a plan needs."""
    recipe, rows = plan.recipe, Counter(cell.part for cell in plan.cells)
    corpora = [
        contract.CorpusEntry(
            corpus.name, len(corpus.files), corpus.sha256, len(corpus.documents), *plan.usage(corpus), corpus.license,
            corpus.source, draw_entry(corpus),
        )
        for corpus in plan.corpora
    ]  # fmt: skip
    manifest = Manifest(
        schema_version=contract.SCHEMA_VERSION,
        name=recipe.name,
        version=recipe.version,
        plan_digest=plan.digest,
        content_digest="0",
        generator_version=contract.VERSION,
        tokenizer=contract.TokenizerEntry(plan.tokenizer.name, plan.tokenizer.sha256),
        corpora=tuple(corpora),
        rows=0,
        tokens=0,
        notes=tuple(plan.notes),
        files=(),
        parts=tuple(contract.PartEntry(p.name, p.weight, rows[p.name]) for p in recipe.parts if p.name is not None),
    )
    cells: Cells = Counter((cell.length, cell.depth, cell.control, cell.part, cell.needle) for cell in plan.cells)
    return Facts(manifest, recipe, formats, tuple(shard.stem for shard in plan.shards), cells)


def complete(final: Path, facts: Facts, shards: Sequence[Written], tell: Notice) -> Path:
    """Write recipe, preview, card and, last, the manifest beside the data files; then give the folder its name.

    tell: called with the notes from making the rows; those from planning are only recorded. Raises IntegrityError if a
    dataset of other rows has that name.
    """
    folder, recipe, digest = partial_of(final), facts.recipe, facts.manifest.plan_digest
    made = dict.fromkeys(note for shard in shards for note in shard.notes)
    for note in made:
        tell(note)
    entries = [write_entry(folder / RECIPE, recipe.to_toml()), *(entry for shard in shards for entry in shard.files)]
    shown = [row for shard in shards for row in shard.shown]
    entries.append(write_preview(folder, shown, facts.formats[0], recipe.form))
    manifest = replace(
        facts.manifest,
        content_digest=contract.content_digest(digest for shard in shards for digest in shard.digests),
        rows=sum(len(shard.digests) for shard in shards),
        tokens=sum(shard.tokens for shard in shards),
        notes=tuple(dict.fromkeys((*facts.manifest.notes, *made))),
        files=tuple(entries),
    )
    there = finished(final, digest)
    if there is not None and there.manifest.content_digest != manifest.content_digest:
        raise IntegrityError(
            f"{final}: its rows are not those that this version makes of the same plan; move that folder away, and run "
            "the same command again"
        )
    # The card comes last, as it lists the other files.
    card = dataset_card(recipe, Dataset(folder, manifest), facts.cells)
    entries.append(write_entry(folder / CARD, card))
    manifest = replace(manifest, files=tuple(sorted(entries, key=lambda entry: entry.path)))
    files.write_atomically(folder / MANIFEST, manifest.to_json())
    _finish(final)
    return open_dataset(final).folder


def rewrite_card(folder: str | Path) -> Path:
    """Rewrite a dataset's card from its recipe, its manifest and the coordinates of its rows; returns its path.

    Raises ContractError if the folder is not a dataset, IntegrityError if rows cannot be read, LockedError if another
    process is building the dataset.
    """
    folder = Path(folder)
    dataset, final = open_dataset(folder), folder.resolve()
    manifest = dataset.manifest
    # Nobody can be building there if the folder above is not writable.
    with lock(final) if os.access(final.parent, os.W_OK) else nullcontext():
        recipe = load_recipe(folder / RECIPE, here=False)
        names = ("length", "depth_percent", "control", "part", "needle_id")
        rows = (row for file in dataset.files() for row in columns_in(file.path, names))
        cells = Counter((row["length"] or 0, *(row[name] for name in names[1:])) for row in rows)
        card = dataset_card(recipe, dataset, cells)
        written = write_entry(folder / CARD, card)
        entries = tuple(written if entry.path == CARD else entry for entry in manifest.files)
        files.write_atomically(folder / MANIFEST, replace(manifest, files=entries).to_json())
    return folder / CARD


def write_part(final: Path, part: str, facts: Facts, shards: Mapping[int, Written]) -> None:
    """Write what a part of a build adds to the dataset, once its data files are there."""
    record = {
        **facts._asdict(),
        "manifest": asdict(facts.manifest),
        "recipe": facts.recipe.table(),
        "cells": [[*cell, rows] for cell, rows in facts.cells.items()],
        "shards": {str(n): {**shard._asdict(), "files": list(map(asdict, shard.files))} for n, shard in shards.items()},
    }
    path = partial_of(final) / f"{part}.json"
    files.write_atomically(path, contract.canonical_json(contract.sealed(record)))


def _read_part(path: Path, name: str) -> tuple[Facts, dict[int, Written]]:
    """The facts and the shards in a part. `name`: of the dataset's folder, which ends with the plan's digest.

    Raises ValueError, KeyError, TypeError, AttributeError or RecursionError if it is not what a build writes.
    """
    record = contract.strict_json(contract.read_regular(path, _MOST_PART_BYTES))
    if contract.seal_is_broken(record):
        raise ValueError(f"{path.name}: its self_sha256 is not that of its other fields")
    manifest = contract.entry_of(Manifest, record["manifest"])
    if not name.endswith(f"-{manifest.digest8}"):
        raise ValueError(f"{path.name} belongs to dataset {manifest.digest8}")
    cells = {tuple(cell): rows for *cell, rows in record["cells"]}
    recipe = load_recipe(record["recipe"], here=False)
    shards = {
        int(number): Written(
            **{**shard, "files": tuple(contract.entry_of(contract.FileEntry, file) for file in shard["files"])}
        )
        for number, shard in record["shards"].items()
    }
    return Facts(manifest, recipe, tuple(record["formats"]), tuple(record["stems"]), cells), shards


def merge(folder: str | Path, notice: Notice | None = None) -> Path:
    """Check all parts that `build(shard=...)` wrote and complete the dataset; returns its folder.

    folder: the partial folder, the dataset folder it will become, or a folder that holds exactly one partial folder.
    It may come from other machines, so nothing in it is trusted. Raises IntegrityError listing every file that is
    missing or damaged.
    """
    final = _target_in(Path(folder))
    partial, tell = partial_of(final), notice or (lambda sentence: None)
    with lock(final):
        parts = sorted(partial.glob("part-*.json"))
        if not parts and (final / MANIFEST).is_file():
            files.remove_folder(partial)  # left by a command that was killed at its end
            tell(f"{final} is complete already; nothing was merged")
            return final
        shards: dict[int, Written] = {}
        try:
            for path in parts:
                facts, of_part = _read_part(path, final.name)
                shards |= of_part
            if not parts:
                raise ValueError("no part of a build")
            checked = {n: _wrong_files(partial, facts, stem, shards.get(n)) for n, stem in enumerate(facts.stems)}
            if problems := [f"file {n} ({facts.stems[n]}): {wrong}" for n, wrong in checked.items() if wrong]:
                head = f"{partial}: {len(problems)} files are missing or damaged; run their shards again"
                raise IntegrityError(listed(head, problems))
            for note in facts.manifest.notes:
                tell(note)
            return complete(final, facts, [shards[number] for number in checked], tell)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise IntegrityError(f"{partial}: holds what no build writes ({error}); run its shards again") from None


def _wrong_files(partial: Path, facts: Facts, stem: str, shard: Written | None) -> str:
    """What is wrong with the files of a shard, whose path is `stem` without format folder and suffix."""
    if shard is None:
        return "not written"
    names = [entry.path for entry in shard.files]
    if names != [contract.data_path(one, stem) for one in facts.formats] or not all(map(contract.is_safe_path, names)):
        return f"written as {one_line(', '.join(names))}, not as {', '.join(facts.formats)}"
    return "; ".join(problem for entry in shard.files if (problem := contract.file_problem(partial, entry)))


def _target_in(folder: Path) -> Path:
    """The dataset that the parts in a folder become."""
    here = folder.absolute()
    beside = here if here.name.endswith(PARTIAL) else partial_of(here)
    # Only as deep as builds put datasets into a folder: this one may be a whole disk.
    found = [beside] if beside.is_dir() else sorted({*here.glob(f"*{PARTIAL}"), *here.glob(f"*/*{PARTIAL}")})
    if len(found) == 1:
        return found[0].with_name(found[0].name.removesuffix(PARTIAL))
    if (here / MANIFEST).is_file():
        raise NiahError(f"{folder}: is a finished dataset; there is nothing to merge")
    what = f"{len(found)} unfinished datasets here" if here.is_dir() else "no such folder"
    raise NiahError(f"{folder}: {what}; name the folder that `build --shard` printed, which ends in {PARTIAL}")


def finished_at(goal: Address, plan_digest: str, formats: Sequence[str]) -> bool:
    """Whether the finished dataset of a plan is at an address, in these formats and with all objects by size.

    Raises IntegrityError if another one is there, as a finished dataset at an address is never changed.
    """
    there = stores.objects_below(goal)
    if MANIFEST not in there:
        return False
    manifest, _ = manifest_at(goal, there)
    entries = {entry.path: entry for entry in manifest.files}
    wrong = [one_line(path) for path, e in entries.items() if path not in there or there[path].bytes != e.bytes]
    wrong += [f"no {suffix} files" for suffix in formats if suffix not in Dataset(Path(goal.name), manifest).formats]
    wrong += [] if manifest.plan_digest == plan_digest else [f"{MANIFEST} is that of another plan"]
    if wrong:
        head = (
            f"{goal}: a finished dataset is there, with {len(wrong)} differences; build at another --out, or remove it"
        )
        raise IntegrityError(listed(head, wrong))
    return True


def send(folder: Path, goal: Address) -> Address:
    """Upload a dataset, or a partial one, and return its address; a whole one replaces the shards beside it.

    Raises IntegrityError if other objects are there.
    """
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    others = [] if goal.name.endswith(PARTIAL) else sorted({*stores.objects_below(goal)} - names)
    if others:
        head = f"{goal}: {len(others)} objects there are not part of the dataset; remove them, or choose another --out"
        raise IntegrityError(listed(head, [*map(one_line, others)]))
    for name in sorted(names - {MANIFEST}):  # a part's record follows its data files
        stores.upload(folder / name, goal / name)
    if MANIFEST in names:
        data = (folder / MANIFEST).read_bytes()
        if not stores.put_new_object(goal / MANIFEST, data) and stores.read_object(goal / MANIFEST) != data:
            raise IntegrityError(f"{goal}: another build has finished there, and its {MANIFEST} differs; verify it")
        shards = Address(f"{goal}{PARTIAL}")
        stores.remove_objects(shards / name for name in sorted(stores.objects_below(shards)))
    return goal


def merge_at(address: str, notice: Notice | None = None) -> str:
    """Check all shards that `build --shard` wrote at an address and complete the dataset; returns its address.

    address: of the partial dataset, of the dataset, or one with a single partial dataset below it. The shards are
    fetched. Raises IntegrityError.
    """
    asked = stores.parse_address(address)
    tops = (asked, Address(f"{asked}{PARTIAL}"))
    places = [str(top / name) for top in tops for name in stores.objects_below(top)]
    found = {place.partition(f"{PARTIAL}/part-")[0] for place in places if f"{PARTIAL}/part-" in place}
    if len(found) != 1:
        what = f"{len(found)} unfinished datasets" if found else "no unfinished dataset"
        raise NiahError(f"{asked}: {what} here; name the one that `build --shard` printed, which ends in {PARTIAL}")
    goal = Address(found.pop())
    partial = Address(f"{goal}{PARTIAL}")
    with copies_of(goal.parent) as scratch:
        for name in stores.objects_below(partial):
            if not contract.is_safe_path(name):
                raise IntegrityError(f"{partial}: {one_line(name)!r} is not the name of a file; remove it")
            stores.fetch(partial / name, scratch / partial.name / name)
        send(merge(scratch / partial.name, notice), goal)
    return str(goal)
