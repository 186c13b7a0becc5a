"""Asks about a directed graph given as a list of edges: a node's parents, or the nodes at a depth of a search.

The task is that of OpenAI's GraphWalks. Here the edges that lead to the answer are placed at and after the row's depth,
misleading edges anywhere, and edges between other nodes fill the length. On request, names, prompt, answers and metric
are the published ones.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from niah_gen.haystacks.generated import MakeUnit
from niah_gen.tasks.base import NO_CONTEXT, Task, no_context, not_stated
from niah_gen.tasks.hiding import units_of_cells
from niah_gen.tasks.options import check_options
from niah_gen.tasks.records import Cell, Item, Settings, Workbench, cell_seed
from niah_gen.tasks.words import wording

# Tokens of the length for each node of the filler: an edge takes about 14, so a node has three or four.
_TOKENS_A_NODE = 24


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """The recipe's [options]. `parents`: how many parents the asked node has, an item for each number.

    `depths`: the search depths whose nodes are asked for, an item for each. `branches`: how many new nodes each node on
    the way leads to. `form`: `published` for GraphWalks's names, prompt, answers and metric; in English only.
    """

    parents: tuple[int, ...] = (1, 3)
    depths: tuple[int, ...] = (1, 2, 3)
    branches: int = 2
    form: str | None = None

    def __post_init__(self) -> None:
        if not self.parents and not self.depths:
            raise ValueError("parents and depths are empty; expected a number in one of them")
        listed = {"parents": range(1, 51), "depths": range(1, 11)}
        check_options(self, branches=range(1, 6), **{name: listed[name] for name in listed if getattr(self, name)})
        if self.form not in (None, "published"):
            raise ValueError(f"form is {self.form!r}; expected published, or no form")
        if self.branches ** max(self.depths, default=0) > 64:
            raise ValueError(
                f"{self.branches} branches lead to {self.branches ** max(self.depths)} nodes at depth "
                f"{max(self.depths)}; expected at most 64"
            )


class _Edge(NamedTuple):
    """An edge from one node to another."""

    tail: str
    head: str

    def __str__(self) -> str:
        return f"{self.tail} -> {self.head}"


class _Walk(NamedTuple):
    """What is asked of a graph. `needed`: the edges that lead to the answers; `others`: misleading ones."""

    start: str
    answers: list[str]
    needed: list[_Edge]
    others: list[_Edge]

    @property
    def nodes(self) -> set[str]:
        """All nodes of both."""
        return {node for edge in (*self.needed, *self.others) for node in edge}


def final_answer(nodes: Sequence[str]) -> str:
    """The answer to a question about a graph as GraphWalks asks for it."""
    return f"Final Answer: [{', '.join(nodes)}]"


# Names so many nodes that have not been named yet.
_NewNodes = Callable[[int], list[str]]


def _new_nodes(draw: random.Random, named: set[str], count: int) -> list[str]:
    """Names `count` nodes by ten hexadecimal digits, the first a letter, so that no name reads as a number."""
    nodes: list[str] = []
    while len(nodes) < count:
        node = f"{draw.choice('abcdef')}{draw.getrandbits(36):09x}"
        if node not in named:
            named.add(node)
            nodes.append(node)
    return nodes


def _ids(settings: Settings, language: str) -> Sequence[str]:
    options: GraphOptions = settings.options
    if language not in (("en",) if options.form else wording("graph_walks")):
        return []
    return [*(f"parents-{count}" for count in options.parents), *(f"depth-{depth}" for depth in options.depths)]


def _parents(new: _NewNodes, count: int) -> _Walk:
    """A node with `count` parents. It also has children, and its parents have other parents and children."""
    (start,) = new(1)
    answers = new(count)
    others = [_Edge(start, child) for child in new(2)]
    others += [_Edge(parent, child) for parent, child in zip(answers, new(count), strict=True)]
    others += [_Edge(above, parent) for above, parent in zip(new(count), answers, strict=True)]
    return _Walk(start, answers, [_Edge(parent, start) for parent in answers], others)


def _search(draw: random.Random, new: _NewNodes, depth: int, branches: int) -> _Walk:
    """A tree from a node down to a depth, with misleading edges: back up, on from its last nodes, and into it."""
    (start,) = new(1)
    levels = [[start]]
    needed: list[_Edge] = []
    others: list[_Edge] = []
    for _ in range(depth):
        edges = [_Edge(node, child) for node in levels[-1] for child in new(branches)]
        needed += edges
        below = [edge.head for edge in edges]
        # An edge back to a node that already has a shorter path.
        others.append(_Edge(draw.choice(below), draw.choice([node for level in levels for node in level])))
        levels.append(below)
    answers = levels[-1]
    others += [_Edge(node, further) for node, further in zip(answers, new(len(answers)), strict=True)]
    others += [_Edge(outside, head) for outside, head in zip(new(2), (start, answers[0]), strict=True)]
    return _Walk(start, answers, needed, others)


def _walk(options: GraphOptions, seed: int, cell: Cell) -> _Walk:
    draw = random.Random(f"{cell_seed(seed, cell)}/{cell.language}/graph-walks")
    new = partial(_new_nodes, draw, set())
    kind, _, count = cell.needle.rpartition("-")
    walk = _parents(new, int(count)) if kind == "parents" else _search(draw, new, int(count), options.branches)
    draw.shuffle(walk.needed)
    return _renamed(walk, seed, cell) if options.form else walk


def _renamed(walk: _Walk, seed: int, cell: Cell) -> _Walk:
    """A walk with published names."""
    nodes = sorted(walk.nodes)
    named = dict(zip(nodes, _published_names(seed, cell, len(nodes)), strict=False))

    def edges(given: list[_Edge]) -> list[_Edge]:
        return [_Edge(named[edge.tail], named[edge.head]) for edge in given]

    answers = [named[node] for node in walk.answers]
    return _Walk(named[walk.start], answers, edges(walk.needed), edges(walk.others))


def _published_names(seed: int, cell: Cell, walked: int) -> list[str]:
    """The names of the nodes of a cell's graph in random order; `walked`: how many the walk has, which come first.

    As published, the n-th node is named by the first ten hexadecimal digits of the MD5 of n, from 0 on.
    """
    draw = random.Random(f"{cell_seed(seed, cell)}/{cell.language}/graph-walks/numbers")
    numbers = range(walked + _others(cell))
    shuffled = draw.sample(numbers, len(numbers))
    return [hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()[:10] for number in shuffled]


def _others(cell: Cell) -> int:
    """How many nodes the filler of a cell has."""
    return max(16, cell.length // _TOKENS_A_NODE)


def _item(settings: Settings, cell: Cell) -> Item:
    published = settings.options.form is not None
    walk = _walk(settings.options, settings.seed, cell)
    kind, _, count = cell.needle.rpartition("-")
    words = wording("graph_walks")[cell.language]
    question = words[f"published_{kind}" if published else kind].format(node=walk.start, depth=count)
    answers = sorted(walk.answers)
    accepted, metric = (final_answer(answers), "graphwalks") if published else (", ".join(answers), "correct")
    if published:
        question += words["published_reply"]
    return Item(
        cell.draw, cell.language, question, (accepted,), tuple((node,) for node in answers), metric,
        tuple(map(str, (*walk.needed, *walk.others))), keyword_kinds=("text",) * len(answers),
        decoys=tuple((node,) for node in sorted(walk.nodes - {walk.start, *answers})),
        distractors=len(walk.others), sets=(len(walk.needed), *(1 for _ in walk.others)),
        # Room to name every edge on the way.
        max_new_tokens=512 + 32 * len(walk.needed),
    )  # fmt: skip


def _absent(item: Item) -> Item:
    """Leaves out the edges between the answers and what leads to them, so that there is nothing to find."""
    needed, others = item.hide[: item.sets[0]], item.hide[item.sets[0] :]
    answers = {group[0] for group in item.keywords}
    kept = [edge for edge in needed if not answers.intersection(edge.split(" -> "))]
    nothing = final_answer([]) if item.metric == "graphwalks" else not_stated(item.language)
    return item._replace(hide=(*kept, *others), answers=(nothing,))


def _other_edges(bench: Workbench, cell: Cell) -> MakeUnit:
    """Makes different edges between nodes that the walk of a cell's row does not touch."""
    walk = _walk(bench.options, bench.seed, cell)
    if bench.options.form:
        pool = _published_names(bench.seed, cell, len(walk.nodes))[len(walk.nodes) :]
    else:
        draw_nodes = random.Random(f"{cell_seed(bench.seed, cell)}/{cell.language}/graph-walks/nodes")
        pool = _new_nodes(draw_nodes, walk.nodes, _others(cell))
    made: set[_Edge] = set()

    def unit(draw: random.Random) -> str:
        while True:
            edge = _Edge(draw.choice(pool), draw.choice(pool))
            if edge.tail != edge.head and edge not in made:
                made.add(edge)
                return str(edge)

    return unit


def _chosen(options: GraphOptions) -> Task:
    return GRAPH_WALKS._replace(template="graph-published") if options.form else GRAPH_WALKS


GRAPH_WALKS = Task(
    "graph-walks", 2, _ids, _item, GraphOptions, context=units_of_cells("edges", _other_edges),
    controls={"absent": _absent, NO_CONTEXT: no_context}, chosen=_chosen,
)  # fmt: skip
