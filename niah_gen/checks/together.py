"""Says what is wrong with the rows of one format taken together: their ids, their order, their number and digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from niah_gen.checks.axes import Axes, axes_of
from niah_gen.recipe.read import settings_of
from niah_gen.recipe.recipe import Recipe
from niah_gen.tasks.base import Task
from niah_gen.tasks.records import Cell
from niah_score.contract import MANIFEST, RECIPE, VERSION, Manifest, content_digest


class ProvedLine(NamedTuple):
    """What of a row is compared with other rows."""

    path: str
    number: int
    id: str | None
    digest: str
    rank: int | None

    def __str__(self) -> str:
        return f"{self.path} row {self.number}" + (f" ({self.id})" if self.id else "")


@dataclass
class FormatRows:
    """All rows of one format, in row order; `whole`: none of its files is missing, damaged or unreadable."""

    suffix: str
    whole: bool
    lines: list[ProvedLine] = field(default_factory=list)
    tokens: int = 0


def wrong_together(rows: FormatRows, recipe: Recipe, task: Task, manifest: Manifest, family: str) -> Iterator[str]:
    """What is wrong with the rows of one format taken together. `family`: what their ids begin with."""
    lines = rows.lines
    yield from _wrong_families(lines, manifest, family)
    once, repeated = _once(lines)
    yield from repeated
    yield from _wrong_order(once)
    if not rows.whole:
        return  # what they add up to cannot be right
    axes = axes_of(recipe, task, settings_of(recipe, task), manifest)
    yield from _missing(rows.suffix, once, axes, recipe, task)
    digest = content_digest(line.digest for line in lines)
    if digest != manifest.content_digest:
        yield f"{MANIFEST}: content_digest is {manifest.content_digest}, the .{rows.suffix} rows give {digest}"
    if len(lines) != manifest.rows:
        yield f"{MANIFEST}: rows is {manifest.rows}, the .{rows.suffix} files hold {len(lines)}"
    if rows.tokens != manifest.tokens:
        yield f"{MANIFEST}: tokens is {manifest.tokens}, the .{rows.suffix} rows add up to {rows.tokens}"


def _wrong_families(lines: Sequence[ProvedLine], manifest: Manifest, family: str) -> Iterator[str]:
    """Rows whose id begins with another digest than the recipe's; one sentence if all of them begin alike."""
    named = [(line, line.id[:8]) for line in lines if line.id is not None]
    found = {digest for _, digest in named}
    if len(named) > 1 and len(found) == 1 and family not in found:
        yield (
            f"{RECIPE}: ids of its rows begin with {family}, those of this dataset with {found.pop()}"
            + other_release(manifest)
        )
        return
    for line, digest in named:
        if digest != family:
            yield f"{line}: its id begins with {digest}, expected {family} for this recipe"


def _once(lines: Iterable[ProvedLine]) -> tuple[list[ProvedLine], list[str]]:
    """The lines without those whose id or coordinates an earlier one has, and a sentence for each of these."""
    once: list[ProvedLine] = []
    repeated: list[str] = []
    ids: set[str] = set()
    ranks: set[int] = set()
    for line in lines:
        if line.id is not None and line.id in ids:
            repeated.append(f"{line}: an earlier row has this id")
        elif line.rank is not None and line.rank in ranks:
            repeated.append(f"{line}: an earlier row has these coordinates")
        else:
            once.append(line)
        if line.id is not None:
            ids.add(line.id)
        if line.rank is not None:
            ranks.add(line.rank)
    return once, repeated


def _wrong_order(lines: Iterable[ProvedLine]) -> Iterator[str]:
    """Rows that do not stand where their coordinates put them."""
    ranked = [(line.rank, line) for line in lines if line.rank is not None]
    for (rank, line), (expected, other) in zip(ranked, sorted(ranked, key=lambda item: item[0]), strict=True):
        if rank != expected:
            yield f"{line}: stands where row {other.id} belongs"


def _missing(suffix: str, lines: Sequence[ProvedLine], axes: Axes, recipe: Recipe, task: Task) -> Iterator[str]:
    """Rows that the recipe asks for and a format does not hold."""
    there = {line.rank for line in lines}
    # Where coordinates cannot be read, the row was named; how many repeats there are only the corpus can tell.
    if None in there or recipe.placing.corpus_may_end:
        return
    cells = [axes.cell(rank) for rank in there if rank is not None]
    pairs = Counter((cell.corpus, cell.language) for cell in cells)
    # A corpus is of the language that most of its rows have; what reads no corpus may ask in several.
    languages = {corpus: {language} for (corpus, language), _ in reversed(pairs.most_common())}
    if task.corpus is not None:
        languages = {task.corpus: {code for code in axes.languages if axes.needles[code]}}
    for corpus in axes.corpora:
        if corpus not in languages:
            yield f"{MANIFEST}: corpus {corpus} has no row in the .{suffix} files"
    for language, length, corpus in product(axes.languages, axes.lengths, axes.corpora):
        if language not in languages.get(corpus, ()):
            continue
        for needle in axes.needles[language]:
            for repeat, control, depth in product(range(axes.repeats), axes.controls, axes.depths):
                cell = Cell(language, corpus, length, needle, repeat, depth, control)
                if axes.rank(cell) not in there:
                    twin = f", control {control}" if control else ""
                    yield (
                        f"{MANIFEST}: the .{suffix} files lack the row of {language}, {corpus}, length {length}, "
                        f"needle {needle}, repeat {repeat}, depth {depth:g}{twin}"
                    )


def other_release(manifest: Manifest) -> str:
    """A hint to end a sentence with, where another release made the dataset."""
    if manifest.generator_version == VERSION:
        return ""
    return f"; niah {manifest.generator_version} made the dataset, this is {VERSION}: prove it with that one"
