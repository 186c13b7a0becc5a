"""Reads the truth of each family back out of a finished prompt."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from contexts import (
    COUNTED_APART,
    ContextProof,
    PlacedNeedle,
    check_figures,
    check_native,
    check_spans,
    context_of,
    take_out,
)
from conversations import check_coreference

from niah_gen.haystacks.placement import Placement
from niah_gen.tasks.base import Task, not_stated
from niah_gen.tasks.frequent_words import DOTS, LIST_APART, TEXT_APART
from niah_gen.tasks.hiding import IN_FILLER
from niah_score.contract import Row, needle_kind

_SEARCHED = {"en": re.compile(r"depth (\d+)"), "zh": re.compile(r"深度恰好为(\d+)")}
_NODE = re.compile(r"(?<![0-9a-f])[0-9a-f]{10}(?![0-9a-f])")
_EDGE = re.compile(r"^([0-9a-f]{10}) -> ([0-9a-f]{10})$", re.MULTILINE)
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LINK = re.compile(rf"({_UUID})(?: maps to |对应)({_UUID})")
_ASSIGNMENT = re.compile(r"(?<![A-Za-z])VAR ([A-Z]+) = ([A-Z]+|[0-9]+)(?![A-Za-z0-9])")
_DIGITS = {"passkey": 5, "number-string": 10}


def _all_different(values: Sequence[object]) -> None:
    assert len(set(values)) == len(values), [value for value, times in Counter(values).items() if times > 1][:3]


def _facts(row: Row) -> list[str]:
    """The facts that the prompt states: the first spelling of each group, none in the control absent."""
    return [] if row["control"] == "absent" else [group[0] for group in row["keywords"]]


def _words(groups: Sequence[Sequence[str]]) -> set[str]:
    return {word for group in groups for word in group}


def check_variables(row: Row) -> None:
    """Checks that the assignments stated in a row's prompt give its answer."""
    assigned = _ASSIGNMENT.findall(context_of(row))
    sources = dict(assigned)
    _all_different([name for name, _ in assigned])
    _all_different([source for source in sources.values() if source.isdigit()])
    holding: list[str] = []
    reached = re.findall(r"\d+", row["question"] or "")[:1]
    while reached:
        reached = [name for name, source in sources.items() if source in reached and name not in holding]
        holding += reached
    assert row["answers"][0] == (", ".join(holding) or not_stated(row["language"]))
    assert _words(row["decoys"]) == set(sources) - set(holding)


def check_numbers(row: Row) -> None:
    """Checks that the numbers of the prompt are the row's facts, each stated twice."""
    stated = re.findall(r"(?<![0-9])[0-9]+(?![0-9])", context_of(row))
    assert sorted(stated) == sorted(_facts(row) * 2)
    assert {len(fact) for fact in _facts(row)} <= {_DIGITS[row["task"]]}


def check_pairs(row: Row) -> None:
    """Checks that the context is one JSON object, repeats no key or value, and gives the asked key the row's value."""
    text = context_of(row)
    pairs = json.loads(text[text.index("{") : text.rindex("}") + 1], object_pairs_hook=list)
    _all_different([text for pair in pairs for text in pair])
    assert sorted(value for key, value in pairs if key in (row["question"] or "")) == sorted(_facts(row))


def check_graph(row: Row) -> None:
    """Checks that the graph stated in a row's prompt gives its answer."""
    edges = _EDGE.findall(context_of(row))
    _all_different(edges)
    question = row["question"] or ""
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
    listed = ", ".join(sorted(nodes))
    expected = f"Final Answer: [{listed}]" if row["metric"] == "graphwalks" else listed or not_stated(row["language"])
    assert row["answers"][0] == expected


def check_chain(row: Row) -> None:
    """Checks that the links stated in a row's prompt lead to its answer."""
    pairs = _LINK.findall(context_of(row))
    links = dict(pairs)
    _all_different([start for start, _ in pairs])
    _all_different([*links.values()])
    start = re.findall(_UUID, row["question"] or "")[0]
    member, passed = start, [start]
    while member in links and links[member] not in passed:
        member = links[member]
        passed.append(member)
    assert row["answers"][0] == (member if len(passed) > 1 else not_stated(row["language"]))
    assert {*links, *links.values()} <= _words(row["decoys"]) | {start} | _words(row["keywords"])


def check_list(proof: ContextProof) -> None:
    """Checks what a row says of its list by counting the words."""
    check_figures(proof.row, proof.counted(proof.context))
    lines = [line.partition(". ") for line in proof.context.split("\n")]
    assert [number for number, _, _ in lines] == [str(number) for number in range(1, len(lines) + 1)]
    assert all(word for _, _, word in lines)
    _check_tally(Counter(word for _, _, word in lines), proof.row, LIST_APART)


def check_coded(proof: ContextProof) -> None:
    """Checks what a row says of its coded text by counting the words."""
    check_figures(proof.row, proof.counted(proof.context))
    tally = Counter(proof.context.split(" "))
    assert all(word == DOTS or word.isalpha() for word in tally)
    dots = tally.pop(DOTS, 0)
    _check_tally(tally, proof.row, TEXT_APART)
    asked = [group[0] for group in proof.row["keywords"]]
    assert sorted(asked, key=lambda word: -tally[word]) == asked
    assert not 0 < dots < tally[asked[0]]


def _check_tally(tally: Counter[str], row: Row, apart: float) -> None:
    """Checks that the asked words are the most frequent: each occurs `apart` times as often as any other word."""
    asked = [group[0] for group in row["keywords"]]
    most = max((count for word, count in tally.items() if word not in asked), default=0)
    assert all(tally[word] and tally[word] >= apart * most for word in asked)


# Rows of key-values ---------------------------------------------------------------------------------------------------

_STATED = {
    "en": re.compile(r"One of the special magic (?:numbers|words|uuids) for (\S+) is: ([^\s.]+)\."),
    "zh": re.compile(r"与“([^”]+)”对应的魔法(?:数字|词| UUID )是：([^。]+)。"),
}
_ASKED = {"en": re.compile(r" for (.+) mentioned in the provided text\?"), "zh": re.compile(r"与(“.+”)对应的魔法")}
_KEYS = {"en": re.compile(r",? and |, "), "zh": re.compile(r"”和“|”、“")}


def check_statements(row: Row) -> None:
    """Checks that a row's prompt states its truth.

    Every value occurs once, the values of the keys that the question names are the row's facts, those of the other
    hidden keys are its decoys, and an absent key has no value.
    """
    stated: dict[str, list[str]] = {}
    for key, value in _STATED[row["language"]].findall(context_of(row)):
        stated.setdefault(key, []).append(value)
    values = [value for own in stated.values() for value in own]
    _all_different(values)
    assert not stated.keys() & set(values)
    match = _ASKED[row["language"]].search(row["question"] or "")
    assert match is not None
    asked, facts = _KEYS[row["language"]].split(match[1].strip("“”")), _facts(row)
    own = [value for key in asked for value in stated.get(key, ())]
    assert sorted(own) == sorted(facts)
    if row["control"] != "absent":
        assert row["control"] or all(fact in row["answers"][0] for fact in facts)
        assert max(map(len, stated.values())) <= max(1, len(facts) // len(asked))
        assert {group[0] for group in row["decoys"]} <= set(values) - set(own)


# Rows that ask for relatives ------------------------------------------------------------------------------------------

_NAME = {"en": r"[A-Z][a-z]+ [A-Z][a-z]+", "zh": "[\u4e00-\u9fff]{3}"}
_ONE = {"en": "father|mother|dad|mom", "zh": "父亲|母亲|爸爸|妈妈"}
_TWO = {
    "en": "(?:maternal |paternal )?grand(?:father|mother)",
    "zh": "爷爷|奶奶|姥姥|姥爷|外公|外婆",
}  # fmt: skip
# E is the elder, Y the younger, T the term, N any name; a repeated name must be the same. Each form includes what ends
# or continues the sentence, so that no form matches inside another.
_FORMS = {
    "en": (
        r"(?P<E>N), as (?P<Y>N)'s (?P<T>T), has",
        r"(?P<E>N) is not only (?P<Y>N)'s (?P<T>T) but also (?P=Y)'s",
        r"(?P<E>N) is (?P<Y>N)'s (?P<T>T)\.",
        r"(?P<Y>N)'s (?P<T>T) is (?P<E>N)\.",
        r"During (?P<Y>N)'s upbringing, (?P<E>N) was not only (?P=Y)'s (?P<T>T),",
        r"For (?P<Y>N), (?P<E>N) is (?:not|more than) just a (?P<T>T)[,;]",
    ),
    "zh": (
        r"(?P<E>N)是(?P<Y>N)的(?P<T>T)。",
        r"(?P<Y>N)的(?P<T>T)是(?P<E>N)。",
        r"(?P<E>N)作为(?P<Y>N)的(?P<T>T)，对(?P=Y)的",
        r"(?P<E>N)不仅是(?P<Y>N)的(?P<T>T)，还是(?P=Y)的",
        r"(?P<E>N)在(?P<Y>N)的成长过程中，不仅仅是(?P=Y)的(?P<T>T)，还是(?P=Y)的",
        r"(?P<E>N)对(?P<Y>N)来说，不只是一个(?P<T>T)，",
    ),
}
_QUESTIONS = {
    "en": {
        "eldest": r"eldest relative that (?P<person>N) can",
        "ancestor": r"the (?P<nth>\d+(?:st|nd|rd|th)) generation ancestor of (?P<person>N)\?",
        "descendant": r"the (?P<nth>\d+(?:st|nd|rd|th)) generation descendant of (?P<person>N)\?",
        "distance": r"between (?P<person>N) and (?P<other>N)\?",
    },
    "zh": {
        "eldest": r"追溯，(?P<person>N)最年长的长辈是谁",
        "ancestor": r"^(?P<person>N)的第(?P<nth>\d+)代祖先",
        "descendant": r"^(?P<person>N)的第(?P<nth>\d+)代子孙",
        "distance": r"^(?P<person>N)和(?P<other>N)之间相差几代",
    },
}


class _Step(NamedTuple):
    """A step to a relative and how many generations away that is."""

    to: str
    generations: int


def check_kinship(row: Row) -> None:
    """Checks that the facts stated in a row's prompt lead to its answer."""
    language = row["language"]
    elders: dict[str, set[_Step]] = {}
    youngers: dict[str, set[_Step]] = {}
    for elder, younger, generations in _facts_in(context_of(row), language):
        elders.setdefault(younger, set()).add(_Step(elder, generations))
        youngers.setdefault(elder, set()).add(_Step(younger, generations))
    kind = needle_kind(row["needle_id"] or "").rpartition("-")[0]
    asked = re.search(_QUESTIONS[language][kind].replace("N", _NAME[language]), row["question"] or "")
    assert asked is not None
    named = asked.groupdict("")
    reached = _followed(named["person"], youngers if kind == "descendant" else elders)
    answer: str | None
    if kind == "distance":
        answer = str(reached[named["other"]]) if named["other"] in reached else None
    elif kind == "eldest":
        answer = next(reversed(reached), None)
    else:
        generations = int(re.sub(r"\D", "", named["nth"]))
        assert language == "zh" or named["nth"] == f"{generations}{_ordinal_ending(generations)}"
        answer = next((person for person, far in reached.items() if far == generations), None)
    assert row["answers"][0] == (answer or not_stated(language))


def _facts_in(text: str, language: str) -> Iterator[tuple[str, str, int]]:
    """Yields elder, younger and the generations between them for every fact that a text states."""
    for form in _FORMS[language]:
        # "N)" occurs in the forms only as the placeholder of a name.
        pattern = form.replace("N)", f"{_NAME[language]})").replace(">T)", f">{_TWO[language]}|{_ONE[language]})")
        before = r"(?<![A-Za-z])" if language == "en" else ""
        # Matched in a lookahead: a chance match must not hide a fact that begins inside it.
        for match in re.finditer(f"(?={before}{pattern})", text):
            yield match["E"], match["Y"], 1 if re.fullmatch(_ONE[language], match["T"]) else 2


def _followed(start: str, steps: Mapping[str, set[_Step]]) -> dict[str, int]:
    """The people reached from a person, in order, with their distance in generations; no step may fork or circle."""
    reached: dict[str, int] = {}
    person, far = start, 0
    while person in steps:
        assert len(steps[person]) == 1, f"{person} leads to more than one person"
        (step,) = steps[person]
        person, far = step.to, far + step.generations
        assert person not in reached, f"{person} is reached in a circle"
        assert person != start
        reached[person] = far
    return reached


def _ordinal_ending(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return "th" if number // 10 % 10 == 1 else endings.get(number % 10, "th")


# Rows that ask for numbered passages ----------------------------------------------------------------------------------

_LINE = {"en": re.compile(r"Passage (\d{6}): (\S.*)"), "zh": re.compile(r"段落(\d{6})：(\S.*)")}
_NTH = re.compile(r"the (\d+)(?:st|nd|rd|th) of|第(\d+)个")
_BETWEEN = "\n\n"


class NumberedPassage(NamedTuple):
    """A passage as read from a prompt."""

    number: str
    text: str


def read_passages(context: str, language: str) -> list[NumberedPassage]:
    """The passages of a context in order, separated by blank lines."""
    matches = [_LINE[language].fullmatch(block) for block in context.split(_BETWEEN)]
    assert None not in matches
    return [NumberedPassage(match[1], match[2]) for match in matches if match]


def check_match(proof: ContextProof) -> None:
    """Checks a row that asks for a passage's number against its prompt."""
    row, passages = proof.row, _passages(proof)
    _all_different([passage.number for passage in passages])
    texts = dict(passages)
    asked = row["keywords"][0][0]
    if row["control"] is None:
        assert [passage.number for passage in read_passages(row["needles"][0], row["language"])] == [asked]
        assert asked in row["answers"]
        clue = re.split("[:：] ?", (row["question"] or "").split("\n")[0], maxsplit=1)[-1]
        assert clue
        assert clue not in texts[asked], "the passage still holds the sentence that the question quotes"
    else:
        assert asked not in texts
    assert {group[0] for group in row["decoys"]} <= texts.keys()


def check_copy(proof: ContextProof) -> None:
    """Checks a row that asks for the text of a passage against its prompt."""
    row, passages = proof.row, _passages(proof)
    _all_different([passage.number for passage in passages])
    texts = [passage.text for passage in passages if passage.number == _asked_number(row)]
    assert texts == ([row["answers"][0]] if row["control"] is None else [])
    assert [passage.text for passage in passages].count(row["answers"][0]) == len(texts)


def check_nth(proof: ContextProof) -> None:
    """Checks a row that asks for one of several passages with the same number against its prompt."""
    row, passages, asked = proof.row, _passages(proof), _asked_number(proof.row)
    _all_different([passage.number for passage in passages if passage.number != asked])
    texts = [passage.text for passage in passages if passage.number == asked]
    _all_different(texts)
    assert len(texts) == len(row["needles"])
    nth = _NTH.search(row["question"] or "")
    assert nth is not None
    assert texts[int(nth[1] or nth[2]) - 1] == row["answers"][0]


def check_count(proof: ContextProof) -> None:
    """Counts the passages to check a row that asks how many different ones there are."""
    check_figures(proof.row, proof.counted(proof.context))
    passages = read_passages(proof.context, proof.row["language"])
    _all_different([passage.number for passage in passages])
    different = len({passage.text for passage in passages})
    assert proof.row["answers"][0] == str(different)
    assert different < len(passages)


def _asked_number(row: Row) -> str:
    numbers: list[str] = re.findall(r"\d{6}", row["question"] or "")
    return numbers[0]


def _passages(proof: ContextProof) -> list[NumberedPassage]:
    """The passages, after a check of the haystack and of the place of the asked one."""
    haystack, places = take_out(proof, _BETWEEN)
    check_figures(proof.row, haystack, places)
    if proof.row["control"] is None and places:
        # No place is nearer to the depth than half of the passage beside it.
        text, place = haystack.text, places[0]
        off = ((proof.row["depth_percent"] or 0.0) - haystack.depth(place)) / 100 * haystack.tokens
        if off > 0:
            end = text.find(_BETWEEN, place + 1)
            beside = text[place : end if end >= 0 else len(text)]
        else:
            beside = text[max(0, text.rfind(_BETWEEN, 0, place)) : place]
        assert abs(off) <= proof.tokenizer.count(beside) / 2 + COUNTED_APART
    return read_passages(proof.context, proof.row["language"])


# The families ---------------------------------------------------------------------------------------------------------

_ROWS: dict[str, Callable[[Row], None]] = {
    "ancestral-facts": check_kinship, "ancestral-trace": check_kinship, "coreference": check_coreference,
    "graph-walks": check_graph, "json-key-values": check_pairs, "key-values": check_statements,
    "number-string": check_numbers, "passkey": check_numbers, "uuid-chain": check_chain,
    "variable-prose": check_variables, "variable-tracking": check_variables,
}  # fmt: skip
_CONTEXTS: dict[str, Callable[[ContextProof], None]] = {
    "coded-words": check_coded, "common-words": check_list, "passage-copy": check_copy, "passage-count": check_count,
    "passage-match": check_match, "passage-nth": check_nth,
}  # fmt: skip
# What stands around the lines of a family.
_BRACKETS = {"json-key-values": ("{", "}")}


def check_truth(row: Row) -> None:
    """Checks what the prompt of a row says of its truth, in families whose prompts can be read."""
    if row["task"] in _ROWS:
        _ROWS[row["task"]](row)


def check_context(task: Task, placement: Placement, proof: ContextProof) -> None:
    """Checks the context of a row: its needles, figures and places."""
    if task.name in _CONTEXTS:
        _CONTEXTS[task.name](proof)
    elif task.context.boundary == "paragraph":
        opening, closing = _BRACKETS.get(task.name, ("", ""))
        assert proof.context.startswith(opening)
        assert proof.context.endswith(closing)
        inner = proof.context[len(opening) : len(proof.context) - len(closing)]
        needles = [PlacedNeedle(text, a - len(opening), b - len(opening)) for text, a, b in proof.needles]
        check_native(proof._replace(context=inner, needles=tuple(needles)))
    elif task.context.boundary == IN_FILLER.boundary and placement.name == "native":
        check_native(proof)
    else:
        check_spans(proof)
