"""Reads the truth of each family back out of a finished prompt."""

from __future__ import annotations

import json
import re
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence

from contexts import ContextProof, context_of, wrong_figures

from niah_gen.errors import shown
from niah_gen.haystacks.placement import Placement
from niah_gen.tasks.base import not_stated
from niah_gen.tasks.frequent_words import DOTS, LIST_APART, TEXT_APART
from niah_gen.tasks.records import Item
from niah_score.contract import Row

_SEARCHED = {"en": re.compile(r"depth (\d+)"), "zh": re.compile(r"深度恰好为(\d+)")}
_NODE = re.compile(r"(?<![0-9a-f])[0-9a-f]{10}(?![0-9a-f])")
_EDGE = re.compile(r"^([0-9a-f]{10}) -> ([0-9a-f]{10})$", re.MULTILINE)
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LINK = re.compile(rf"({_UUID})(?: maps to |对应)({_UUID})")
_ASSIGNMENT = re.compile(r"(?<![A-Za-z])VAR ([A-Z]+) = ([A-Z]+|[0-9]+)(?![A-Za-z0-9])")


def check_variables(row: Row, item: Item) -> Iterator[str]:
    """Checks that the assignments stated in a row's prompt give its answer."""
    assigned = _ASSIGNMENT.findall(context_of(row))
    sources = dict(assigned)
    if len(sources) < len(assigned):
        yield "the prompt assigns a variable twice"
    values = [source for source in sources.values() if source.isdigit()]
    if len(set(values)) < len(values):
        yield "the prompt assigns a value to two variables"
    asked = re.search(r"\d+", item.question or "")
    value = asked[0] if asked else ""
    holding: list[str] = []
    reached = [value]
    while reached:
        reached = [name for name, source in sources.items() if source in reached and name not in holding]
        holding += reached
    expected = ", ".join(holding) or not_stated(row["language"])
    if row["answers"][0] != expected:
        yield f"answers begin with {row['answers'][0]!r}; the assignments of the prompt give {expected!r}"
    others = set(sources) - set(holding)
    if {name for group in row["decoys"] for name in group} != others:
        yield "decoys are not the variables of the other chains"


def check_numbers(digits: int) -> Callable[[Row, Item], Iterator[str]]:
    number = re.compile(r"(?<![0-9])[0-9]+(?![0-9])")

    def check(row: Row, item: Item) -> Iterator[str]:
        """Checks that the numbers of the prompt are the row's facts, each stated twice; none in the control absent."""
        stated = sorted(number.findall(context_of(row)))
        facts = [] if row["control"] == "absent" else [group[0] for group in row["keywords"]]
        if stated != sorted(facts * 2):
            yield f"the numbers of the prompt are {shown(stated)}, expected {shown(sorted(facts * 2))}"
        for fact in facts:
            if len(fact) != digits:
                yield f"keywords: {fact} has {len(fact)} digits, expected {digits}"

    return check


def check_pairs(row: Row, item: Item) -> Iterator[str]:
    """Checks that the context is one JSON object, repeats no key or value, and gives the asked key the row's value."""
    text = context_of(row)
    try:
        pairs = json.loads(text[text.index("{") : text.rindex("}") + 1], object_pairs_hook=lambda pairs: pairs)
    except ValueError as error:
        yield f"the context is not a JSON object: {error}"
        return
    asked = [value for key, value in pairs if key in (row["question"] or "")]
    every = [text for pair in pairs for text in pair]
    if len(set(every)) != len(every):
        yield f"{len(every) - len(set(every))} keys or values of the object are repeated"
    facts = [] if row["control"] == "absent" else [group[0] for group in row["keywords"]]
    if sorted(asked) != sorted(facts):
        yield f"the object has {shown(asked)} for the asked key, expected {shown(facts)}"


def check_graph(row: Row, item: Item) -> Iterator[str]:
    """Checks that the graph stated in a row's prompt gives its answer."""
    edges = _EDGE.findall(context_of(row))
    if len(set(edges)) < len(edges):
        yield "an edge occurs twice in the prompt"
    question = item.question or ""
    start = _NODE.findall(question)[0]
    searched = _SEARCHED[row["language"]].search(question)
    if searched is None:
        nodes = {tail for tail, head in edges if head == start}
    else:
        children: dict[str, set[str]] = {}
        for tail, head in edges:
            children.setdefault(tail, set()).add(head)
        seen = nodes = {start}
        for _ in range(int(searched[1])):
            nodes = {head for node in nodes for head in children.get(node, ())} - seen
            seen = seen | nodes
    expected = ", ".join(sorted(nodes)) or not_stated(row["language"])
    if row["answers"][0] != expected:
        yield f"answers begin with {row['answers'][0]!r}; the graph of the prompt gives {expected!r}"


def check_chain(row: Row, item: Item) -> Iterator[str]:
    """Checks that the links stated in a row's prompt lead to its answer."""
    pairs = _LINK.findall(context_of(row))
    links = dict(pairs)
    if len(links) < len(pairs):
        yield "a member of the prompt's chains maps to two others"
    if len(set(links.values())) < len(links):
        yield "two members of the prompt's chains map to the same one"
    start = re.findall(_UUID, item.question or "")[0]
    member = start
    passed = [member]
    while member in links and links[member] not in passed:
        member = links[member]
        passed.append(member)
    expected = member if len(passed) > 1 else not_stated(row["language"])
    if row["answers"][0] != expected:
        yield f"answers begin with {row['answers'][0]!r}; the links of the prompt lead to {expected!r}"
    decoys = {word for group in row["decoys"] for word in group}
    missing = {*links, *links.values()} - decoys - {start} - {word for group in row["keywords"] for word in group}
    if missing:
        yield f"decoys lack {min(missing)!r}, a member of the prompt's chains"


def check_list(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Checks what a row says of its list by counting the words."""
    yield from wrong_figures(proof)
    words = []
    for number, line in enumerate(proof.context.split("\n"), 1):
        before, dot, word = line.partition(". ")
        if before != str(number) or not dot or not word:
            yield f"line {number} of the list is {shown(line)}, expected {number}. and a word"
            return
        words.append(word)
    yield from wrong_tally(Tally(words), [group[0] for group in proof.row["keywords"]], LIST_APART)


def wrong_tally(tally: Tally[str], asked: Sequence[str], apart: float) -> Iterator[str]:
    """Checks that the asked words are the most frequent: each occurs `apart` times as often as any other word."""
    most = max((count for word, count in tally.items() if word not in asked), default=0)
    for word in asked:
        if tally[word] < apart * most or not tally[word]:
            yield (
                f"{shown(word)} occurs {tally[word]} times, and another word {most} times; expected at least {apart:g} "
                "times as often as any other"
            )


def check_coded(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Checks what a row says of its coded text by counting the words."""
    yield from wrong_figures(proof)
    tally = Tally(proof.context.split(" "))
    if not all(word == DOTS or word.isalpha() for word in tally):
        yield "the coded text holds more than words, three dots and single spaces"
    dots = tally.pop(DOTS, 0)
    asked = [group[0] for group in proof.row["keywords"]]
    yield from wrong_tally(tally, asked, TEXT_APART)
    ranked = sorted(asked, key=lambda word: -tally[word])
    if ranked != asked:
        yield f"keywords are {', '.join(asked)}, expected the most frequent first: {', '.join(ranked)}"
    if dots and dots < tally[asked[0]]:
        yield f"{DOTS} occurs {dots} times, less often than the most frequent word, {tally[asked[0]]}"


_QUESTION = re.compile(r"Prepend \S+ to the (\d+)(?:st|nd|rd|th) \(1 indexed\) (.+?)\. Do not include")
