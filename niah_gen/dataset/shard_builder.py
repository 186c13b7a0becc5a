"""Makes the shards of a plan, one after the other, in one process: its rows, its files, its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

from niah_gen.dataset.at_address import Target
from niah_gen.dataset.preview import chosen_rows
from niah_gen.dataset.shards import ShardJob, ShardRecord, write_shard
from niah_gen.dataset.writer_thread import WriterThread
from niah_gen.rows.assemble import Assembler
from niah_gen.rows.plan import Plan, PlannedPart
from niah_gen.tasks.controls import NO_CONTEXT
from niah_gen.tasks.records import Cell
from niah_score.text.language import find_language

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class ShardBuilder:
    """What one process keeps between shards."""

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
        """Make a shard's rows; the future tells when its files and then its record are kept.

        Writer threads take turns.
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

        def record() -> ShardRecord:
            with held:
                found = written.result()
                self.target.keep(found, job.folder)
                return found

        return writer.then(record)


def _rows_alike(planned: PlannedPart) -> int:
    """How many rows of a part share a haystack, at most."""
    part = planned.part
    twins = sum(name != NO_CONTEXT for name in part.controls)
    return 1 if part.fresh_haystacks else len(planned.grid.depths) * (1 + twins)


def _repeated_after(parts: Sequence[PlannedPart], cells: Sequence[Cell], row_bytes: int) -> int | None:
    """After how many bytes rows repeat their own text: the size of the corpus that fills them, if that is smaller."""
    longest = 0
    for name in {cell.corpus for cell in cells}:
        found = [corpus for part in parts for corpus in part.corpora if corpus.name == name and name in part.fillers]
        if not found:
            return None
        size = 0
        for document in found[0].documents:
            size += len(document.text.encode())
            if size >= row_bytes:
                return None
        longest = max(longest, size)
    return longest
