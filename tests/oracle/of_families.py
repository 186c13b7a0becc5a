"""Names the reader of truth of each task family and placement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from contexts import ContextProof, PlacedNeedle, check_native, misplaced
from conversations import check_coreference
from family_checks import (
    check_chain,
    check_coded,
    check_copy,
    check_count,
    check_graph,
    check_kinship,
    check_list,
    check_match,
    check_nth,
    check_numbers,
    check_pairs,
    check_variables,
    wrong_statements,
)

from niah_gen.haystacks.placement import Placement
from niah_gen.tasks.base import Task
from niah_gen.tasks.hiding import IN_FILLER
from niah_gen.tasks.records import Item
from niah_score.contract import Row

CheckRow = Callable[[Row, Item], Iterator[str]]
CheckContext = Callable[[Placement, ContextProof], Iterator[str]]

ROWS: dict[str, CheckRow] = {
    "ancestral-facts": check_kinship,
    "ancestral-trace": check_kinship,
    "coreference": check_coreference,
    "graph-walks": check_graph,
    "json-key-values": check_pairs,
    "key-values": wrong_statements,
    "number-string": check_numbers(10),
    "passkey": check_numbers(5),
    "uuid-chain": check_chain,
    "variable-prose": check_variables,
    "variable-tracking": check_variables,
}
CONTEXTS: dict[str, CheckContext] = {
    "coded-words": check_coded, "common-words": check_list, "passage-copy": check_copy, "passage-count": check_count,
    "passage-match": check_match, "passage-nth": check_nth,
}  # fmt: skip
# What stands around the lines of a family.
BRACKETS = {"json-key-values": ("{", "}")}


def wrong_row(name: str, row: Row, item: Item) -> Iterator[str]:
    """What is wrong with a row of a family, as its prompt shows."""
    if name in ROWS:
        yield from ROWS[name](row, item)


def wrong_context(task: Task, placement: Placement, proof: ContextProof) -> Iterator[str]:
    """What is wrong with the context of a row."""
    if task.name in CONTEXTS:
        yield from CONTEXTS[task.name](placement, proof)
    elif task.context.boundary == "paragraph":
        yield from _check_lines(proof, *BRACKETS.get(task.name, ("", "")))
    elif task.context.boundary == IN_FILLER.boundary and placement.name == "native":
        yield from check_native(proof)
    else:
        yield from misplaced(proof.needles, proof.context, proof.offset)


def _check_lines(proof: ContextProof, opening: str, closing: str) -> Iterator[str]:
    """Checks that needles stand at their places among lines, which `opening` and `closing` enclose."""
    if not (proof.context.startswith(opening) and proof.context.endswith(closing)):
        yield f"the context is not enclosed in {opening!r} and {closing!r}"
        return
    inner = proof.context[len(opening) : len(proof.context) - len(closing)]
    needles = tuple(
        PlacedNeedle(needle.text, needle.start - len(opening), needle.end - len(opening)) for needle in proof.needles
    )
    yield from check_native(replace(proof, context=inner, offset=proof.offset + len(opening), needles=needles))
