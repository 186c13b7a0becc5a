"""Makes the shards of a plan in one process: rows, files and records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

from niah_gen.corpora.read import Corpus
from niah_gen.dataset.at_address import Target
from niah_gen.dataset.preview import chosen_rows
from niah_gen.dataset.shards import GROUP_BYTES, ShardJob, ShardRecord, write_shard
from niah_gen.dataset.writer_thread import WriterThread
from niah_gen.errors import IntegrityError
from niah_gen.recipe.recipe import Recipe
from niah_gen.rows.assemble import Assembler
from niah_gen.rows.plan import Plan, PlannedPart, make_plan
from niah_gen.tasks.controls import NO_CONTEXT
from niah_gen.tasks.records import Cell
from niah_score.text.language import find_language

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class SentPlan:
    """What another process needs to make the plan again, and shards of it.

    digest: the plan's; pins: sha256 of corpora, tokenizer and other files when the plan was made; given: the recipe as
    given; drawn: the corpora of which some documents were drawn, so that nobody reads all documents again.
    """

    digest: str
    pins: tuple[tuple[str, str], ...]
    given: Recipe
    drawn: Mapping[str, Corpus]
    target: Target
    formats: tuple[str, ...]


def sent_plan(plan: Plan, target: Target, formats: Sequence[str]) -> SentPlan:
    """The plan in a form that another process can be sent."""
    drawn = {spec: corpus for spec, corpus in plan.sources.items() if corpus.draw}
    return SentPlan(plan.digest, plan.recipe.pins, plan.given, drawn, target, tuple(formats))


def builder_of(sent: SentPlan, advance: Advance, differs: Callable[[Plan], str]) -> ShardBuilder:
    """Make the builder of the shards of a plan that was sent.

    Raises IntegrityError, with what `differs` says, if the plan made here is another one.
    """
    plan = make_plan(sent.given, known=sent.drawn)
    if plan.digest != sent.digest:
        raise IntegrityError(differs(plan))
    return ShardBuilder(plan, Assembler(plan), sent.target, sent.formats, (WriterThread(GROUP_BYTES),), advance)


@dataclass(frozen=True)
class ShardBuilder:
    """Makes shards in one process, and holds what they share."""

    plan: Plan
    assembler: Assembler
    target: Target
    formats: tuple[str, ...]
    writers: tuple[WriterThread, ...]
    advance: Advance

    @cached_property
    def shown(self) -> Mapping[int, tuple[int, ...]]:
        """The rows that the preview shows."""
        return chosen_rows(self.plan)

    def start(self, number: int, turn: int = 0) -> Future[ShardRecord]:
        """Make a shard's rows; the future returns its record once its files and the record are stored.

        turn: chooses the writer thread.
        """
        plan = self.plan
        shard = plan.shards[number]
        cells = plan.cells[shard.first : shard.last]
        row_bytes = int(cells[0].length * find_language(cells[0].language).bytes_per_token)
        parts = [plan.part_of[name] for name in {cell.part for cell in cells}]
        alike = max(map(_rows_alike, parts))
        kinds = [planned.task.context for planned in parts]
        quick = all(kind.repeats_text or (kind.draws_text and alike == 1) for kind in kinds)
        writer = self.writers[turn % len(self.writers)]
        with ExitStack() as stack:
            job = ShardJob(
                plan.digest,
                number,
                stack.enter_context(self.target.shard_folder()),
                shard.stem,
                self.formats,
                plan.recipe.form,
                row_bytes,
                alike,
                quick,
                _repeated_after(parts, cells, row_bytes),
                self.shown[number],
            )
            written = write_shard(job, self.assembler.pending_rows(cells), writer, self.advance)
            held = stack.pop_all()

        def keep() -> ShardRecord:
            with held:
                record = written.result()
                self.target.keep(record, job.folder)
                return record

        return writer.then(keep)


def _rows_alike(planned: PlannedPart) -> int:
    """The most rows of a part that share a haystack."""
    part = planned.part
    twins = sum(name != NO_CONTEXT for name in part.controls)
    return 1 if part.fresh_haystacks else len(planned.grid.depths) * (1 + twins)


def _repeated_after(parts: Sequence[PlannedPart], cells: Sequence[Cell], row_bytes: int) -> int | None:
    """After how many bytes rows repeat their own text: the size of their largest corpus if all are smaller."""
    longest = 0
    for name in {cell.corpus for cell in cells}:
        corpora = [corpus for part in parts for corpus in part.corpora if corpus.name == name and name in part.fillers]
        if not corpora:
            return None
        size = 0
        for document in corpora[0].documents:
            size += len(document.text.encode())
            if size >= row_bytes:
                return None
        longest = max(longest, size)
    return longest
