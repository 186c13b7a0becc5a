"""Reads the truth of each family back out of a finished prompt."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections import Counter as Tally
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import NamedTuple

from contexts import ContextProof, CountedHaystack, context_of, misplaced, take_out, wrong_figures

from niah_gen.errors import shown
from niah_gen.haystacks.placement import Placement
from niah_gen.tasks.base import not_stated
from niah_gen.tasks.frequent_words import DOTS, LIST_APART, TEXT_APART
from niah_gen.tasks.records import Item
from niah_score.contract import Row, needle_kind

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


# Proves rows of key-values from their prompts alone


_STATED = {
    "en": re.compile(r"One of the special magic (?:numbers|words|uuids) for (\S+) is: ([^\s.]+)\."),
    "zh": re.compile(r"与“([^”]+)”对应的魔法(?:数字|词| UUID )是：([^。]+)。"),
}
_ASKED = {"en": re.compile(r" for (.+) mentioned in the provided text\?"), "zh": re.compile(r"与(“.+”)对应的魔法")}
_KEYS = {"en": re.compile(r",? and |, "), "zh": re.compile(r"”和“|”、“")}


def wrong_statements(row: Row, item: Item) -> Iterator[str]:
    """Checks that a row's prompt states its truth.

    Every value occurs once, the values of the keys that the question names are the row's facts, those of the other
    hidden keys are its decoys, and an absent key has no value.
    """
    stated: dict[str, list[str]] = {}
    for key, value in _STATED[row["language"]].findall(context_of(row)):
        stated.setdefault(key, []).append(value)
    repeated = [value for value, times in Counter(v for own in stated.values() for v in own).items() if times > 1]
    yield from (f"{shown(value)} is the value of two lines, expected once" for value in repeated[:3])
    yield from (f"{shown(key)} is both a key and a value" for key in list(stated.keys() & _all(stated))[:3])
    asked = _asked(row)
    if asked is None:
        yield f"question: no key is named in {shown(row['question'])}"
        return
    facts = [group[0] for group in row["keywords"]]
    values = [value for key in asked for value in stated.get(key, ())]
    if row["control"] == "absent":
        if values:
            yield f"{shown(asked[0])} has the value {shown(values[0])}, but should be absent"
        return
    if sorted(values) != sorted(facts):
        yield f"the prompt states {shown(sorted(values))} for {shown(asked)}, but keywords are {shown(sorted(facts))}"
    if row["control"] is None and not all(fact in row["answers"][0] for fact in facts):
        yield f"answers: {shown(row['answers'][0])} lacks one of {shown(facts)}"
    most = max(1, len(facts) // len(asked))
    more = [key for key, own in stated.items() if len(own) > most]
    yield from (f"{shown(key)} has {len(stated[key])} values, expected at most {most}" for key in more[:3])
    others = _all({key: own for key, own in stated.items() if key not in asked})
    for group in row["decoys"]:
        if group[0] not in others:
            yield f"decoys: no other key has the value {shown(group[0])}"


def _all(stated: dict[str, list[str]]) -> set[str]:
    return {value for own in stated.values() for value in own}


def _asked(row: Row) -> list[str] | None:
    """The keys that the question names."""
    match = _ASKED[row["language"]].search(row["question"] or "")
    return None if match is None else _KEYS[row["language"]].split(match[1].strip("“”"))


# Proves rows that ask for relatives


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


def check_kinship(row: Row, item: Item) -> Iterator[str]:
    """Checks that the facts stated in a row's prompt lead to its answer."""
    language = row["language"]
    elders: dict[str, set[_Step]] = {}
    youngers: dict[str, set[_Step]] = {}
    for elder, younger, generations in _facts_in(context_of(row), language):
        elders.setdefault(younger, set()).add(_Step(elder, generations))
        youngers.setdefault(elder, set()).add(_Step(younger, generations))
    kind = needle_kind(item.id).rpartition("-")[0]
    asked = re.search(_QUESTIONS[language][kind].replace("N", _NAME[language]), item.question or "")
    if asked is None:
        yield f"question is {item.question!r}, which is not a question of the kind {kind!r}"
        return
    named = asked.groupdict("")
    reached = _followed(named["person"], youngers if kind == "descendant" else elders)
    if reached is None:
        yield f"the facts of the prompt lead from {named['person']} to more than one person, or in a circle"
        return
    nth = named.get("nth", "")
    if language == "en" and nth and not _is_ordinal(nth):
        yield f"question says {nth!r}, which is not an ordinal"
    answer: str | None
    if kind == "distance":
        answer = str(reached[named["other"]]) if named["other"] in reached else None
    elif kind == "eldest":
        answer = next(reversed(reached), None)
    else:
        generations = int(re.sub(r"\D", "", nth))
        answer = next((person for person, far in reached.items() if far == generations), None)
    said = row["answers"][0]
    expected = answer or not_stated(language)
    if said != expected:
        yield f"answers begin with {said!r}; the facts of the prompt lead to {expected!r}"


def _facts_in(text: str, language: str) -> Iterator[tuple[str, str, int]]:
    """Yields elder, younger and the generations between them for every fact that a text states."""
    for form in _FORMS[language]:
        # "N)" occurs in the forms only as the placeholder of a name.
        pattern = form.replace("N)", f"{_NAME[language]})").replace(">T)", f">{_TWO[language]}|{_ONE[language]})")
        before = r"(?<![A-Za-z])" if language == "en" else ""
        # Matched in a lookahead: a chance match must not hide a fact that begins inside it.
        for match in re.finditer(f"(?={before}{pattern})", text):
            yield match["E"], match["Y"], 1 if re.fullmatch(_ONE[language], match["T"]) else 2


def _followed(start: str, steps: Mapping[str, set[_Step]]) -> dict[str, int] | None:
    """The people reached from a person, in order, with their distance in generations; None for a fork or a circle."""
    reached: dict[str, int] = {}
    person, far = start, 0
    while person in steps:
        if len(steps[person]) > 1:
            return None
        (step,) = steps[person]
        person, far = step.to, far + step.generations
        if person in reached or person == start:
            return None
        reached[person] = far
    return reached


def _is_ordinal(text: str) -> bool:
    digits, ending = text[:-2], text[-2:]
    if len(digits) > 1 and digits[-2] == "1":
        return ending == "th"
    return ending == {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1], "th")


# Proves rows that ask for numbered passages


_LINE = {"en": re.compile(r"Passage (\d{6}): (\S.*)"), "zh": re.compile(r"段落(\d{6})：(\S.*)")}
_NUMBER = re.compile(r"\d{6}")
_NTH = re.compile(r"the (\d+)(?:st|nd|rd|th) of|第(\d+)个")
_BETWEEN = "\n\n"
# Percentage points between the recorded and the counted depth, by `local`: for other tokenizers the builder estimates.
_TOLERANCE = {True: 1e-9, False: 1.0}
# Tokens by which counting a passage alone may differ from counting it in its place.
_COUNTED_APART = 2


class NumberedPassage(NamedTuple):
    """A passage as read from a prompt."""

    number: str
    text: str


def read_passages(context: str, language: str) -> list[NumberedPassage] | str:
    """The passages of a context in order, or a sentence that says why they cannot be read."""
    passages = []
    for block in context.split(_BETWEEN):
        match = _LINE[language].fullmatch(block)
        if match is None:
            return f"expected passages with six-digit numbers, separated by blank lines; found {shown(block)}"
        passages.append(NumberedPassage(match[1], match[2]))
    return passages


def check_match(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Checks a row that asks for a passage's number against its prompt."""
    passages = yield from _passages(proof)
    if passages is None:
        return
    row = proof.row
    yield from _numbered_twice(passages)
    asked = row["keywords"][0][0] if row["keywords"] and row["keywords"][0] else ""
    numbers = [passage.number for passage in passages]
    if row["control"] is None:
        needle = read_passages(row["needles"][0], row["language"]) if row["needles"] else []
        if isinstance(needle, str) or [passage.number for passage in needle] != [asked] or asked not in row["answers"]:
            yield f"keywords name passage {shown(asked)}, but the needle or the answers name another one"
        text = next((passage.text for passage in passages if passage.number == asked), "")
        clue = re.split("[:：] ?", (row["question"] or "").split("\n")[0], maxsplit=1)[-1]
        if not clue or clue in text:
            yield f"the question quotes a sentence that passage {asked} still holds: {shown(clue)}"
    elif asked in numbers:
        yield f"passage {asked} is in the prompt of the control, expected it to be left out"
    for group in row["decoys"]:
        if group[0] not in numbers:
            yield f"decoys name passage {shown(group[0])}, which is not in the prompt"


def check_copy(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Checks a row that asks for the text of a passage against its prompt."""
    passages = yield from _passages(proof)
    if passages is None:
        return
    row = proof.row
    yield from _numbered_twice(passages)
    asked = _asked_number(proof)
    texts = [passage.text for passage in passages if passage.number == asked]
    if row["control"] is not None and texts:
        yield f"passage {asked} is in the prompt of the control, expected it to be left out"
    if row["control"] is None:
        if texts != [row["answers"][0]]:
            yield f"passage {asked} says {shown(texts)}, expected the reference answer"
        count = sum(passage.text == row["answers"][0] for passage in passages)
        if count > 1:
            yield f"{count} passages have the text that is asked for, expected one"


def check_nth(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Checks a row that asks for one of several passages with the same number against its prompt."""
    passages = yield from _passages(proof)
    if passages is None:
        return
    row, asked = proof.row, _asked_number(proof)
    nth = _NTH.search(row["question"] or "")
    texts = [passage.text for passage in passages if passage.number == asked]
    yield from _numbered_twice([passage for passage in passages if passage.number != asked])
    place = int(nth[1] or nth[2]) if nth else 0
    if not 1 <= place <= len(texts):
        yield f"the question asks for number {place} of the passages {asked}, of which there are {len(texts)}"
    elif texts[place - 1] != row["answers"][0]:
        yield f"number {place} of the passages {asked} says {shown(texts[place - 1])}, expected the reference answer"
    if len(set(texts)) != len(texts) or len(texts) != len(row["needles"]):
        yield f"the number {asked} has {len(set(texts))} different passages, expected {len(row['needles'])}"


def check_count(placement: Placement, proof: ContextProof) -> Iterator[str]:
    """Counts the passages to check a row that asks how many different ones there are."""
    yield from wrong_figures(proof)
    passages = read_passages(proof.context, proof.row["language"])
    if isinstance(passages, str):
        yield passages
        return
    yield from _numbered_twice(passages)
    different = len({passage.text for passage in passages})
    if proof.row["answers"][0] != str(different):
        yield f"the prompt has {different} different passages, expected {shown(proof.row['answers'][0])}"
    if different == len(passages):
        yield "no passage is repeated, expected some to be"


def _asked_number(proof: ContextProof) -> str:
    match = _NUMBER.search(proof.row["question"] or "")
    return match[0] if match else ""


def _numbered_twice(passages: list[NumberedPassage]) -> Iterator[str]:
    for number, times in Counter(passage.number for passage in passages).items():
        if times > 1:
            yield f"{times} passages have the number {number}, expected one"


def _passages(proof: ContextProof) -> Generator[str, None, list[NumberedPassage] | None]:
    """Checks the haystack and the needles. Returns the passages; None if they cannot be read."""
    wrong_spans = list(misplaced(proof.needles, proof.context, proof.offset))
    if wrong_spans:
        yield from wrong_spans
        return None
    taken = take_out(proof.needles, proof.context, _BETWEEN)
    if isinstance(taken, str):
        yield taken
        return None
    haystack = proof.counted(taken.haystack)
    row, local = proof.row, proof.tokenizer.local
    if row["haystack_id"] != haystack.id:
        yield f"haystack_id is {shown(row['haystack_id'])}, expected {haystack.id!r} of the prompt without its needles"
    if row["haystack_tokens"] != haystack.tokens:
        yield f"haystack_tokens is {row['haystack_tokens']}, expected {haystack.tokens}"
    for number, (place, recorded) in enumerate(zip(taken.places, row["needle_depths"], strict=True), 1):
        depth = haystack.depth(place)
        if not abs(recorded - depth) <= _TOLERANCE[local]:
            yield f"the depth of needle {number} is {recorded}, expected {depth}"
    if row["control"] is None and taken.places:
        yield from _far_off(haystack, taken.places[0], row["depth_percent"] or 0.0, proof)
    passages = read_passages(proof.context, row["language"])
    if isinstance(passages, str):
        yield passages
        return None
    return passages


def _far_off(haystack: CountedHaystack, place: int, asked: float, proof: ContextProof) -> Iterator[str]:
    """Reports an asked passage that is further from its depth than half of the passage next to it."""
    text = haystack.text
    off = (asked - haystack.depth(place)) / 100 * haystack.tokens
    if off > 0:
        end = text.find(_BETWEEN, place + len(_BETWEEN) if place else 0)
        beside = text[place : end if end >= 0 else len(text)]
    else:
        beside = text[max(0, text.rfind(_BETWEEN, 0, place)) : place]
    if abs(off) > proof.tokenizer.count(beside) / 2 + _COUNTED_APART:
        yield f"the asked passage is at {haystack.depth(place):.2f} %; a place nearer to {asked:g} % was free"
