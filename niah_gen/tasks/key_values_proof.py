"""Proves rows of key-values from their prompts alone: reads every line that states a value, and asks the question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from niah_gen.haystacks.proof import shown
from niah_gen.tasks.records import Item
from niah_score.contract import Row

_STATED = {
    "en": re.compile(r"One of the special magic (?:numbers|words|uuids) for (\S+) is: ([^\s.]+)\."),
    "zh": re.compile(r"与“([^”]+)”对应的魔法(?:数字|词| UUID )是：([^。]+)。"),
}
_ASKED = {"en": re.compile(r" for (.+) mentioned in the provided text\?"), "zh": re.compile(r"与(“.+”)对应的魔法")}
_KEYS = {"en": re.compile(r",? and |, "), "zh": re.compile(r"”和“|”、“")}


def wrong_statements(row: Row, item: Item) -> Iterator[str]:
    """What of a row's truth its prompt does not state.

    Every value stands for one key and once, the values of the keys that the question names are the row's facts, those
    of the other hidden keys its decoys, and an absent key has none.
    """
    prompt = row["prompt"]
    text = prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]
    stated: dict[str, list[str]] = {}
    for key, value in _STATED[row["language"]].findall(text):
        stated.setdefault(key, []).append(value)
    again = [value for value, times in Counter(v for own in stated.values() for v in own).items() if times > 1]
    yield from (f"{shown(value)} is the value of two lines, expected once" for value in again[:3])
    yield from (f"{shown(key)} is a key and a value" for key in list(stated.keys() & _all(stated))[:3])
    asked = _asked(row)
    if asked is None:
        yield f"question: no key is named in {shown(row['question'])}"
        return
    facts = [group[0] for group in row["keywords"]]
    found = [value for key in asked for value in stated.get(key, ())]
    if row["control"] == "absent":
        if found:
            yield f"{shown(asked[0])} has the value {shown(found[0])}, but is said to be absent"
        return
    if sorted(found) != sorted(facts):
        yield f"the prompt states {shown(sorted(found))} for {shown(asked)}, but keywords are {shown(sorted(facts))}"
    if row["control"] is None and not all(fact in row["answers"][0] for fact in facts):
        yield f"answers: {shown(row['answers'][0])} lacks one of {shown(facts)}"
    most = max(1, len(facts) // len(asked))
    more = [key for key, own in stated.items() if len(own) > most]
    yield from (f"{shown(key)} has {len(stated[key])} values, expected {most} at most" for key in more[:3])
    others = _all({key: own for key, own in stated.items() if key not in asked})
    for group in row["decoys"]:
        if group[0] not in others:
            yield f"decoys: no other key has the value {shown(group[0])}"


def _all(stated: dict[str, list[str]]) -> set[str]:
    return {value for own in stated.values() for value in own}


def _asked(row: Row) -> list[str] | None:
    """The keys that the question names."""
    found = _ASKED[row["language"]].search(row["question"] or "")
    if found is None:
        return None
    return _KEYS[row["language"]].split(found[1].strip("“”"))
