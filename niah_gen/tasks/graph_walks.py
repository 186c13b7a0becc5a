"""Asks about a directed graph given as a list of edges: a node's parents, or the nodes at a depth of a search.

The task is that of OpenAI's GraphWalks. Here the edges that lead to the answer are placed at and after the row's depth,
misleading edges anywhere, and edges between other nodes fill the length.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from niah_gen.haystacks.generated import MakeUnit
from niah_gen.tasks.base import LANGUAGES, NO_CONTEXT, Control, Task, no_context, not_stated
from niah_gen.tasks.hiding import units_of_cells
from niah_gen.tasks.records import Cell, Item, Settings, Workbench, cell_seed

_PARENTS = {"en": "Find the parents of node {node}.", "zh": "请找出节点{node}的所有父节点。"}
_SEARCH = {
    "en": "Perform a breadth-first search from node {node}. Which nodes are at depth {depth} exactly?",
    "zh": "从节点{node}开始进行广度优先搜索，深度恰好为{depth}的节点有哪些？",
}
_SEARCHED = {"en": re.compile(r"depth (\d+)"), "zh": re.compile(r"深度恰好为(\d+)")}
_NODE = re.compile(r"(?<![0-9a-f])[0-9a-f]{10}(?![0-9a-f])")
_EDGE = re.compile(r"^([0-9a-f]{10}) -> ([0-9a-f]{10})$", re.MULTILINE)
# Tokens of the length for each node of the filler: an edge takes about 14, so a node has three or four.
_TOKENS_A_NODE = 24


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """The recipe's [options]. `parents`: how many parents the asked node has, an item for each number.

    `depths`: the search depths whose nodes are asked for, an item for each. `branches`: how many new nodes each node on
    the way leads to.
    """

    parents: tuple[int, ...] = (1, 3)
    depths: tuple[int, ...] = (1, 2, 3)
    branches: int = 2

    def __post_init__(self) -> None:
        if not self.parents and not self.depths:
            raise ValueError("parents and depths are empty; expected a number in one of them")
        for name, most in (("parents", 50), ("depths", 10)):
            counts = getattr(self, name)
            if any(not 1 <= count <= most for count in counts) or len(set(counts)) < len(counts):
                raise ValueError(f"{name} are {list(counts)}; expected different numbers from 1 to {most}")
        if not 1 <= self.branches <= 5:
            raise ValueError(f"branches is {self.branches}; expected 1 to 5")
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
    """What is asked of a graph. `needed`: the edges that lead to the answer; `others`: misleading ones.

    `nodes`: all nodes of both.
    """

    start: str
    answers: list[str]
    needed: list[_Edge]
    others: list[_Edge]
    nodes: frozenset[str]

    @property
    def passed(self) -> list[str]:
        """The nodes that are neither asked about nor answers, in a fixed order."""
        return sorted(self.nodes - {self.start, *self.answers})


class _Nodes:
    """Names new nodes: ten hexadecimal digits, the first a letter, so that no name reads as a number."""

    def __init__(self, draw: random.Random, taken: frozenset[str] = frozenset()) -> None:
        self._draw = draw
        self.named = set(taken)

    def new(self, count: int) -> list[str]:
        """Names `count` nodes that have not been named yet."""
        nodes: list[str] = []
        while len(nodes) < count:
            node = f"{self._draw.choice('abcdef')}{self._draw.getrandbits(36):09x}"
            if node not in self.named:
                self.named.add(node)
                nodes.append(node)
        return nodes


def _ids(settings: Settings, language: str) -> Sequence[str]:
    options: GraphOptions = settings.options
    if language not in LANGUAGES:
        return []
    return [*(f"parents-{count}" for count in options.parents), *(f"depth-{depth}" for depth in options.depths)]


def _parents(draw: random.Random, nodes: _Nodes, count: int) -> _Walk:
    """A node with `count` parents. It also has children, and its parents have other parents and children."""
    (start,) = nodes.new(1)
    answers = nodes.new(count)
    needed = [_Edge(parent, start) for parent in answers]
    others = [_Edge(start, child) for child in nodes.new(2)]
    others += [_Edge(parent, child) for parent, child in zip(answers, nodes.new(count), strict=True)]
    others += [_Edge(above, parent) for above, parent in zip(nodes.new(count), answers, strict=True)]
    draw.shuffle(needed)
    return _Walk(start, answers, needed, others, frozenset(nodes.named))


def _search(draw: random.Random, nodes: _Nodes, depth: int, branches: int) -> _Walk:
    """A tree from a node down to a depth, with misleading edges: back up, on from its last nodes, and into it."""
    (start,) = nodes.new(1)
    levels = [[start]]
    needed: list[_Edge] = []
    others: list[_Edge] = []
    for _ in range(depth):
        below: list[str] = []
        for node in levels[-1]:
            children = nodes.new(branches)
            needed += [_Edge(node, child) for child in children]
            below += children
        # An edge back to a node that already has a shorter path.
        above = [node for level in levels for node in level]
        others.append(_Edge(draw.choice(below), draw.choice(above)))
        levels.append(below)
    answers = levels[-1]
    others += [_Edge(node, further) for node, further in zip(answers, nodes.new(len(answers)), strict=True)]
    others += [_Edge(outside, head) for outside, head in zip(nodes.new(2), (start, answers[0]), strict=True)]
    draw.shuffle(needed)
    return _Walk(start, answers, needed, others, frozenset(nodes.named))


def _walk(options: GraphOptions, seed: int, cell: Cell) -> _Walk:
    draw = random.Random(f"{cell_seed(seed, cell)}/{cell.language}/graph-walks")
    nodes = _Nodes(draw)
    kind, _, count = cell.needle.rpartition("-")
    if kind == "parents":
        return _parents(draw, nodes, int(count))
    return _search(draw, nodes, int(count), options.branches)


def _item(settings: Settings, cell: Cell) -> Item:
    walk = _walk(settings.options, settings.seed, cell)
    kind, _, count = cell.needle.rpartition("-")
    question = (_PARENTS if kind == "parents" else _SEARCH)[cell.language]
    edges = [*map(str, walk.needed), *map(str, walk.others)]
    answers = sorted(walk.answers)
    return Item(
        cell.draw, cell.language, question.replace("{node}", walk.start).replace("{depth}", count),
        (", ".join(answers),), tuple((node,) for node in answers), "correct", tuple(edges),
        keyword_kinds=("text",) * len(answers), decoys=tuple((node,) for node in walk.passed),
        distractors=len(walk.others), sets=(len(walk.needed), *(1 for _ in walk.others)),
        # Room to name every edge on the way.
        max_new_tokens=512 + 32 * len(walk.needed),
    )  # fmt: skip


def _absent(item: Item) -> Item:
    """Leaves out the edges into the answers and keeps all others, so that there is nothing to find."""
    answers = {group[0] for group in item.keywords}
    asked = _NODE.findall(item.question or "")[0]
    needed = item.sets[0]

    def is_last(number: int, edge: str) -> bool:
        tail, _, head = edge.partition(" -> ")
        return number < needed and (head in answers or (tail in answers and head == asked))

    kept = tuple(edge for number, edge in enumerate(item.hide) if not is_last(number, edge))
    return item._replace(hide=kept, answers=(not_stated(item.language),))


def _other_edges(bench: Workbench, cell: Cell) -> MakeUnit:
    """Makes different edges between nodes that the walk of a cell's row does not touch."""
    walk = _walk(bench.options, bench.seed, cell)
    draw_nodes = random.Random(f"{cell_seed(bench.seed, cell)}/{cell.language}/graph-walks/nodes")
    pool = _Nodes(draw_nodes, walk.nodes).new(max(16, cell.length // _TOKENS_A_NODE))
    made: set[_Edge] = set()

    def unit(draw: random.Random) -> str:
        while True:
            edge = _Edge(draw.choice(pool), draw.choice(pool))
            if edge.tail != edge.head and edge not in made:
                made.add(edge)
                return str(edge)

    return unit


_CONTROLS: Mapping[str, Control] = {"absent": _absent, NO_CONTEXT: no_context}

GRAPH_WALKS = Task(
    "graph-walks", 1, _ids, _item, GraphOptions,
    context=units_of_cells("edges", _other_edges), controls=_CONTROLS
)  # fmt: skip
