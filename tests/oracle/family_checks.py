"""Reads the truth of each family back out of a finished prompt."""

from __future__ import annotations

import json
import re
from collections import Counter as Tally
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise

from contexts import ContextProof, context_of, misplaced, wrong_figures
from native_contexts import take_out

from niah_gen.errors import shown
from niah_gen.haystacks.cut_document import GAP, unit_edges
from niah_gen.haystacks.needlehaystack2 import _BROKEN
from niah_gen.haystacks.placement import Placement
from niah_gen.tasks.base import not_stated
from niah_gen.tasks.frequent_words import DOTS, LIST_APART, TEXT_APART
from niah_gen.tasks.published.longbench import SETS, prompts, split_paragraphs
from niah_gen.tasks.questions.family import document_id, evidence_in
from niah_gen.tasks.questions.forms import ExternalQuestion
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


def check_nolima(row: Row, item: Item) -> Iterator[str]:
    """Yields needles that do not end their line, and a question that does not follow the book."""
    prompt = row["prompt"]
    text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
    for number, (needle, span) in enumerate(zip(row["needles"], row["needle_spans"], strict=False), 1):
        if text[span["start"] - 1 : span["start"]] != " " or text[span["end"] : span["end"] + 1] != "\n":
            yield f"needle {number} does not stand between a space and a line end: {needle!r}"
    needles_end = max((span["end"] for span in row["needle_spans"]), default=0)
    if row["question"] is None or row["question"] not in text[needles_end:]:
        yield f"the prompt does not ask {row['question']!r} after its needles"


def check_longbench(dataset: str, row: Row, item: Item) -> Iterator[str]:
    """Yields what a row over paragraphs of a corpus says that its prompt contradicts."""
    kind = SETS[dataset]
    context = yield from _longbench_context(dataset, row)
    if context is None:
        return
    paragraphs = split_paragraphs(kind, context)
    if [name for name, _ in paragraphs] != [str(number) for number in range(1, len(paragraphs) + 1)]:
        yield "the paragraphs are not numbered from 1"
        return
    texts = [text.partition(kind.marker.format(name).rstrip())[2].strip() for name, text in paragraphs]
    if kind.metric == "longbench_count":
        if row["answers"] != [str(len(set(texts)))]:
            yield f"{len(set(texts))} paragraphs are different, expected {shown(row['answers'])}"
        return
    asked = [text for name, text in paragraphs if row["answers"] == [kind.answer.format(name)]]
    if asked != row["needles"]:
        yield f"the paragraph named in answers is {shown(asked)}, expected the one in needles"
    if len(set(texts)) != len(texts):
        yield "two paragraphs are the same"


def _longbench_context(dataset: str, row: Row) -> Generator[str, None, str | None]:
    """The paragraphs of a prompt; if it is not the published one, yields that and returns None."""
    prompt = row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][-1]["content"]
    first, last = prompts()[dataset].replace("{input}", row["question"] or "").split("{context}")
    if not prompt.startswith(first) or not prompt.endswith(last) or len(prompt) < len(first) + len(last):
        yield f"the prompt is not that of LongBench's {dataset}"
        return None
    return prompt[len(first) : len(prompt) - len(last)]


def check_longbench_file(row: Row, item: Item) -> Iterator[str]:
    """Yields what is not as published in a row of a file; metric and language show which set it is from."""
    names = [name for name, kind in SETS.items() if (kind.metric, kind.language) == (row["metric"], row["language"])]
    if not names:
        yield f"metric is {row['metric']!r}, which no LongBench set in {row['language']} has"
        return
    yield from _longbench_context(names[0], row)


_QUESTION = re.compile(r"Prepend \S+ to the (\d+)(?:st|nd|rd|th) \(1 indexed\) (.+?)\. Do not include")


def check_mrcr(row: Row, item: Item) -> Iterator[str]:
    """Yields what is wrong with a row's answer and needle, as far as the published wording of the prompt shows it."""
    answer, prefix = row["answers"][0], row["answer_prefix"] or ""
    if not prefix or not answer.startswith(prefix) or prefix not in (row["question"] or ""):
        yield f"answers: expected a text that begins with the prefix {prefix!r}, which the question names"
    for needle in row["needles"]:
        if answer.removeprefix(prefix).strip() != needle.strip():
            yield "the needle is not what the answer repeats"
        elif (reply := _asked_reply(row)) is not None and reply.strip() != needle.strip():
            yield f"the requested reply is {reply[:80]!r}, but the needle is a different one"


def _asked_reply(row: Row) -> str | None:
    """The reply that a chat's question names, empty if there is none; None if the question cannot be parsed."""
    prompt = row["prompt"]
    match = _QUESTION.match(row["question"] or "")
    if isinstance(prompt, str) or match is None or len(prompt) < 2:
        return None
    place, asked = int(match[1]), match[2].lower()
    request = re.compile(rf"write an? {re.escape(asked)}\W*", re.IGNORECASE)
    replies = [
        reply["content"]
        for message, reply in pairwise(prompt)
        if message["role"] == "user" and request.fullmatch(message["content"])
    ]
    return replies[place - 1] if 0 < place <= len(replies) else ""


def check_needlehaystack2(proof: ContextProof) -> Iterator[str]:
    """Problems with a row's context: needles that are not at their spans, or a different haystack.

    A haystack that a needle cuts inside a character cannot be put together again, and is not checked.
    """
    astray = list(misplaced(proof.needles, proof.context, proof.offset))
    if astray or _BROKEN in proof.context:
        yield from astray
        return
    taken = take_out(proof.needles, proof.context, "")
    if isinstance(taken, str):
        yield taken
        return
    counted = proof.counted(taken.haystack)
    if counted.id != proof.row["haystack_id"]:
        yield f"haystack_id is {proof.row['haystack_id']!r}, expected {counted.id!r} of the prompt without its needles"


def check_document(
    find: Callable[[str], ExternalQuestion], mode: str, placement: Placement, proof: ContextProof
) -> Iterator[str]:
    """What is wrong with a context, compared with its document in the file."""
    yield from misplaced(proof.needles, proof.context, proof.offset)
    question = find(proof.row["needle_id"] or "")
    document, row = question.document, proof.row
    if row["haystack_id"] != document_id(document):
        yield f"haystack_id is {shown(row['haystack_id'])}, expected the document's {document_id(document)!r}"
    if proof.context != document:
        if row["length"] is None:
            yield f"the context is not the file's document: {shown(proof.context)}"
        else:
            yield from _wrong_cut(proof.context, question, mode)
    needles = sorted(proof.needles, key=lambda needle: needle.start)
    rest, at = "", 0
    for needle in needles:
        rest, at = rest + proof.context[at : needle.start], needle.end
    tokens = proof.tokenizer.count(rest + proof.context[at:])
    if row["haystack_tokens"] != tokens:
        yield f"haystack_tokens is {row['haystack_tokens']}, expected {tokens}"


def _wrong_cut(context: str, question: ExternalQuestion, mode: str) -> Iterator[str]:
    """What is wrong with a cut document, as far as it shows without the budget: building the row again proves the rest.

    With evidence, every line is one of the document's, and every passage occurs exactly once.
    """
    document, passages = question.document, evidence_in(question)
    for passage in passages:
        text = document[passage.start : passage.end]
        if context.count(text) != 1:
            yield f"a passage of the evidence occurs {context.count(text)} times in the context: {shown(text)}"
    if passages:
        strange = next((line for line in context.split(GAP) if line not in document), None)
        if strange is not None:
            yield f"the document has no such line: {shown(strange)}"
    elif not _is_cut(context, document, mode):
        yield f"the context is not the document cut between sentences by options.cut = {mode!r}"


def _is_cut(context: str, document: str, mode: str) -> bool:
    """Whether a context is what `mode` keeps of a document, cut between units; `middle` may keep one end alone."""
    edges = unit_edges(document)
    ends = {end for edge in edges for end in (edge, _before_space(document, edge))}
    starts = {start for edge in edges for start in (edge, _past_space(document, edge))}
    head, tail = _shared(document, context), _shared(document[::-1], context[::-1])
    size = len(context)
    is_head = head == size and size in ends
    is_tail = tail == size and len(document) - size in starts

    def continues(end: int) -> bool:
        """Whether a gap and a tail follow a head of `end` characters."""
        rest = size - end - len(GAP)
        return context.startswith(GAP, end) and rest <= tail and len(document) - rest in starts

    if mode != "middle":
        return is_head if mode == "head" else is_tail
    return is_head or is_tail or any(continues(end) for end in ends if end <= head)


def _shared(one: str, other: str) -> int:
    """How many characters two texts share at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _before_space(text: str, at: int) -> int:
    while at and text[at - 1].isspace():
        at -= 1
    return at
