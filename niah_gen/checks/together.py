"""Checks the rows of one format against each other and the manifest: their ids, order, number and digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from niah_gen.checks.axes import Axes, Rank, axes_of
from niah_gen.recipe.recipe import Recipe
from niah_gen.tasks.base import Task
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import MANIFEST, RECIPE, VERSION, Manifest, Row, content_digest


class ProvedLine(NamedTuple):
    """What is compared between rows. `family`: what the id should begin with.

    `row`: the row itself, kept only for families whose rows prove each other.
    """

    path: str
    number: int
    id: str | None
    digest: str
    rank: Rank | None
    family: str = ""
    row: Row | None = None

    def __str__(self) -> str:
        return f"{self.path} row {self.number}" + (f" ({self.id})" if self.id else "")


@dataclass
class FormatRows:
    """All rows of one format, in row order; `whole`: none of its files is missing, damaged or unreadable.

    `followers`: the functions made by `Task.in_order`, by part, for parts whose rows prove each other.
    """

    suffix: str
    whole: bool
    followers: Mapping[str | None, Callable[[Row | None], Iterator[str]]] = field(default_factory=dict)
    lines: list[ProvedLine] = field(default_factory=list)
    tokens: int = 0

    def take(self, lines: Iterable[ProvedLine]) -> Iterator[str]:
        """Add the next lines, and say what is wrong with their rows, given the rows before them."""
        for line in lines:
            self.lines.append(line._replace(row=None))
            if line.row is not None:
                for problem in self.followers[line.row["part"]](line.row):
                    yield f"{line}: {problem}"

    def end(self) -> Iterator[str]:
        """What is wrong with the rows, now that none follows."""
        for follow in self.followers.values():
            yield from follow(None)


def followers_of(
    recipe: Recipe, tasks: Sequence[Task], tokenizer: Tokenizer
) -> dict[str | None, Callable[[Row | None], Iterator[str]]]:
    """The function made by `Task.in_order` for each part whose rows prove each other. `tasks`: each part's family."""
    return {
        part.name: task.in_order(tokenizer)
        for part, task in zip(recipe.parts, tasks, strict=True)
        if task.in_order is not None
    }


def wrong_together(rows: FormatRows, recipe: Recipe, tasks: Sequence[Task], manifest: Manifest) -> Iterator[str]:
    """What is wrong with the rows of one format taken together. `tasks`: the family of each part."""
    yield from rows.end()
    lines = rows.lines
    yield from _wrong_families(lines, manifest)
    once, repeated = _once(lines)
    yield from repeated
    yield from _wrong_order(once)
    if not rows.whole:
        return  # their totals cannot be right
    known = None not in {line.rank for line in lines}
    of_parts = Counter(line.rank[2] for line in lines if line.rank is not None)
    for axes, task in zip(axes_of(recipe, tasks, manifest).values(), tasks, strict=True):
        yield from _missing(rows.suffix, once, axes, task)
        for part in manifest.parts if known else ():
            if part.name == axes.part.name and part.rows != of_parts[axes.number]:
                yield (
                    f"{MANIFEST}: part {part.name} has {part.rows} rows, "
                    f"the .{rows.suffix} files hold {of_parts[axes.number]}"
                )
    digest = content_digest(line.digest for line in lines)
    if digest != manifest.content_digest:
        yield f"{MANIFEST}: content_digest is {manifest.content_digest}, the .{rows.suffix} rows give {digest}"
    if len(lines) != manifest.rows:
        yield f"{MANIFEST}: rows is {manifest.rows}, the .{rows.suffix} files hold {len(lines)}"
    if rows.tokens != manifest.tokens:
        yield f"{MANIFEST}: tokens is {manifest.tokens}, the .{rows.suffix} rows add up to {rows.tokens}"


def _wrong_families(lines: Sequence[ProvedLine], manifest: Manifest) -> Iterator[str]:
    """Rows whose id does not begin with their part's digest; one sentence if all ids of a part begin with another."""
    parts: dict[str, list[ProvedLine]] = {}
    for line in lines:
        if line.id is not None and line.family:
            parts.setdefault(line.family, []).append(line)
    for family, named in parts.items():
        beginnings = {(line.id or "")[:8] for line in named}
        if len(named) > 1 and len(beginnings) == 1 and family not in beginnings:
            yield (
                f"{RECIPE}: its row ids begin with {family}, those of this dataset with {beginnings.pop()}"
                + other_release(manifest)
            )
            continue
        for line in named:
            if not (line.id or "").startswith(family):
                yield f"{line}: its id begins with {(line.id or '')[:8]}, expected {family} for this recipe"


def _once(lines: Iterable[ProvedLine]) -> tuple[list[ProvedLine], list[str]]:
    """The lines that share neither id nor coordinates with an earlier one, and a sentence for each other line."""
    once: list[ProvedLine] = []
    repeated: list[str] = []
    ids: set[str] = set()
    ranks: set[Rank] = set()
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
    """Rows that are not where their coordinates put them."""
    ranked = [(line.rank, line) for line in lines if line.rank is not None]
    for (rank, line), (expected, other) in zip(ranked, sorted(ranked, key=lambda item: item[0]), strict=True):
        if rank != expected:
            yield f"{line}: is where row {other.id} belongs"


def _missing(suffix: str, lines: Sequence[ProvedLine], axes: Axes, task: Task) -> Iterator[str]:
    """Rows that a part asks for and a format lacks."""
    # Rows with unreadable coordinates have been reported; how many repeats there are only the corpus can tell.
    if any(line.rank is None for line in lines) or axes.part.placing.corpus_may_end:
        return
    present = {line.rank for line in lines}
    pairs = Counter(axes.corpus_and_language(rank) for rank in present if rank is not None and rank[2] == axes.number)
    # A corpus has the language of most of its rows; a family that reads no corpus may ask in several.
    languages = {corpus: {language} for (corpus, language), _ in reversed(pairs.most_common())}
    if task.corpus is not None:
        languages = {task.corpus: {code for code in axes.languages if axes.grid.needles[code]}}
    of_part = f", part {axes.part.name}" if axes.part.name else ""
    for corpus in axes.corpora:
        if corpus not in languages:
            yield f"{MANIFEST}: corpus {corpus} has no row in the .{suffix} files{of_part}"
    for cell in axes.cells():
        if cell.language in languages.get(cell.corpus, ()) and axes.rank(cell) not in present:
            twin = f", control {cell.control}" if cell.control else ""
            yield (
                f"{MANIFEST}: the .{suffix} files lack the row of {cell.language}, {cell.corpus}, "
                f"length {cell.length}, needle {cell.needle}, repeat {cell.repeat}"
                f"{'' if cell.depth is None else f', depth {cell.depth:g}'}{twin}{of_part}"
            )


def other_release(manifest: Manifest) -> str:
    """The end of a sentence about a dataset that another release made; empty for one made by this release."""
    if manifest.generator_version == VERSION:
        return ""
    return f"; niah {manifest.generator_version} made the dataset, this is {VERSION}: prove it with that one"
