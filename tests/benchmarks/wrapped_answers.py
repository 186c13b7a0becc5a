"""Counts wrong verdicts on right and wrong answers of every needle, in the wordings in which models put their answers.

make measure

Every reference answer of the needle library is right in any ordinary wording; with a rival's value in its place, it is
wrong. A list is wrong with an item replaced, left out or added. `Judge` and `evaluate` must agree on every answer.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.recipe.part import settings_of
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Part
from niah_gen.tasks.base import item_ids, item_of
from niah_gen.tasks.needle_library import needle_library
from niah_gen.tasks.records import Cell, Item
from niah_gen.tasks.registry import chosen_task
from niah_gen.tasks.worlds.schemas import nobody
from niah_score.evaluation import evaluate
from niah_score.judge import Judge
from niah_score.text import finds, fold, group_of

LENGTH = 8_000  # of the rows: seeds what is drawn for them
CORPORA = {"en": "en_essays", "zh": "zh_articles"}
MOST_SHOWN = 40
_RIGHT, _WRONG = 100.0, 0.0

# [answer]: within a sentence; [Answer]: at the beginning of one; [lower]: in lower case; [reference]: as in the row;
# [other]: what it does not give, of a right answer a rival, of a wrong one the reference; [sentence]: the needle. Rows
# that have no such thing leave a wrapping out.
_FORMS: dict[str, dict[str, list[str]]] = json.loads(Path(__file__).with_name("wrappings.json").read_text("utf-8"))
WRAPPINGS = _FORMS["wrappings"]

# [items]: all in a sentence; a form with [item] is repeated for each item where it is written between ‹ and ›.
LISTS = _FORMS["lists"]


class Said(NamedTuple):
    """An answer to a row, in a wrapping (its place in the language's table), and the score that it deserves."""

    id: str
    wrapping: str
    text: str
    score: float


def rows() -> list[dict[str, Any]]:
    """A row of every world of the default dataset, and of every needle in English and Chinese; without prompts."""
    (plain,) = load_recipe("plain").parts
    library = [one.asked(bool(one.paraphrase)) for one in needle_library().values() if one.language in CORPORA]
    single, sets = (tuple(one for one in library if (one.kind == "single") == alone) for alone in (True, False))
    needles = [
        replace(plain, name="needles", needles=single),
        replace(plain, name="sets", task="multi", needles=sets),
    ]
    return [row for part in (*load_recipe("default").parts, *needles) for row in _rows_of(part)]


def _rows_of(part: Part) -> Iterator[dict[str, Any]]:
    task = chosen_task(part.task, part.options)
    settings = settings_of(part, task)
    for language, corpus in CORPORA.items():
        for number, name in enumerate(item_ids(task, settings, language)):
            item = item_of(task, settings, Cell(language, corpus, LENGTH, name, 0, 50.0, part=part.name))
            # Another question of each world, one that has an answer.
            asked = [one for one in item.asks if one.keywords and one.keywords[0][0] != nobody(language)[0]] or [item]
            yield _row(f"{part.name}-{language}-{name}", str(part.name), asked[number % len(asked)])


def _row(name: str, part: str, item: Item) -> dict[str, Any]:
    return {
        "id": name, "part": part, "language": item.language, "needle_id": item.id, "length": LENGTH, "repeat": 0,
        "depth_percent": 50.0, "question": item.question, "answers": list(item.answers),
        "keywords": [list(group) for group in item.keywords], "keyword_kinds": item.kinds, "rejects": item.rejected,
        "decoys": [list(group) for group in item.decoys], "metric": "correct",
        "needles": [] if item.world else list(item.hide[: len(item.hide) - item.distractors]),
    }  # fmt: skip


# What is said of a row --------------------------------------------------------------------------------------------


def said_of(row: dict[str, Any]) -> list[Said]:
    """Every answer of a row in every wrapping; those that give the same text once."""
    items = _items(row)
    said = _lists_of(row, items) if items else _singles_of(row)
    return list({(one.text, one.score): one for one in said}.values())


def _singles_of(row: dict[str, Any]) -> Iterator[Said]:
    language = row["language"]
    references = list(dict.fromkeys(_within(row, answer) for answer in row["answers"]))
    sentence = row["needles"][0].strip() if len(row["needles"]) == 1 and row["decoys"] else ""
    rivals = _rivals(row)
    # The answers, each with its score, the sentence that gives it, and something else to weigh.
    given = [(text, _RIGHT, sentence, rivals[0] if rivals else "") for text in references]
    for rival in rivals:
        for place in _places(row, references[0]):
            text = _put(references[0], place, rival)
            fact = references[0][slice(*place)].lower()
            quoted = [there for there in _places(row, sentence) if sentence[slice(*there)].lower() == fact]
            wrong = _put(sentence, quoted[0], rival) if quoted else ""
            given.append((text, _WRONG, wrong, references[0]))
    for text, score, quoted_sentence, other in given:
        for number, wrapping in enumerate(WRAPPINGS[language]):
            reference = row["answers"][0] if text == references[0] else _capital(text) + "。."[language == "en"]
            meant = {
                "[reference]": reference, "[answer]": text, "[Answer]": _capital(text), "[lower]": text.lower(),
                "[other]": other, "[question]": row["question"].strip(), "[sentence]": quoted_sentence,
            }  # fmt: skip
            if all(meant[name] for name in meant if name in wrapping):
                yield Said(row["id"], str(number), _filled(wrapping, meant), score)


def _lists_of(row: dict[str, Any], items: list[str]) -> Iterator[Said]:
    rivals = _rivals(row)
    given = [(items, _RIGHT)]
    given += [([*items[:number], *items[number + 1 :]], _WRONG) for number in range(len(items))]
    for number, rival in enumerate(rivals):
        place = number % len(items)
        item = _put(items[place], _places(row, items[place])[0], rival)
        given.append(([*items[:place], item, *items[place + 1 :]], _WRONG))
        given.append(([*items[:place], item, *items[place:]], _WRONG))
    if row["keyword_kinds"][0].startswith("pair:"):
        # Each has another's.
        values = [item[slice(*_places(row, item)[0])] for item in items]
        swapped = [
            _put(item, _places(row, item)[0], value) for item, value in zip(items, values[1:] + values[:1], strict=True)
        ]
        given.append((swapped, _WRONG))
    for several, score in given:
        for number, form in enumerate(LISTS[row["language"]]):
            if "[other]" not in form or rivals:
                text = _list_text(row, form, several, rivals[0] if rivals else "")
                yield Said(row["id"], f"list-{number}", text, score)


def _list_text(row: dict[str, Any], form: str, items: Sequence[str], other: str) -> str:
    together = _together(items, row["language"])
    reference = row["answers"][0] if list(items) == _items(row) else _capital(together)
    before, _, rest = form.partition("‹")
    each, _, after = rest.partition("›")
    repeated = [
        _filled(each, {"[item]": item, "[Item]": _capital(item), "[number]": str(number)})
        for number, item in enumerate(items, 1)
    ]
    meant = {"[reference]": reference, "[items]": together, "[Items]": _capital(together), "[other]": other}
    separator = ", " if each.endswith(", ") else ""
    return _filled(before + "".join(repeated).removesuffix(separator) + after, meant).strip()


def _together(items: Sequence[str], language: str) -> str:
    if len(items) == 1:
        return items[0]
    comma, last = (", ", " and ") if language == "en" else ("、", "和")
    return comma.join(items[:-1]) + last + items[-1]


def _filled(text: str, meant: dict[str, str]) -> str:
    return re.sub(r"\[\w+\]", lambda match: meant.get(match[0], match[0]), text)


# The parts of an answer ---------------------------------------------------------------------------------------------


def _within(row: dict[str, Any], answer: str) -> str:
    """A reference answer as it stands within a sentence: "On 23 February." is "23 February"."""
    text = re.sub(r"^(?:On|At|In|Of|With|For|From|Those of) (?=\S)", "", answer.strip().rstrip(".。"))
    # Of a whole sentence, what it says.
    text = re.sub(r"^.*?(?: in San Francisco is |就是|特色菜肴是|的人叫)", "", text)
    lowered = text[:1].lower() + text[1:]
    words = " ".join([*row["needles"], *(word for group in row["keywords"] for word in group)])
    first = re.split(r",| and ", lowered)[0]
    return lowered if re.match(r"(?:the|an?) ", lowered) or first in words else text


def _items(row: dict[str, Any]) -> list[str]:
    """The items of a list; a single answer has none."""
    if len(row["keywords"]) < 3 or 0 < len(row["needles"]) < 3:
        return []
    return re.split(r",(?!\d) ?| and |[、，和]", _within(row, row["answers"][0]))


def _rivals(row: dict[str, Any]) -> list[str]:
    """The rivals' values. Near misses without a value are whole sentences."""
    return [group[0] for group in row["decoys"] if not re.search(r"[。.]$", group[0])]


def _places(row: dict[str, Any], text: str) -> list[tuple[int, int]]:
    """Where a text states facts that are asked for; of those that overlap, the longest."""
    found = []
    for group, kind in zip(row["keywords"], row["keyword_kinds"], strict=True):
        written = [place for word in group for place in _written(text, word)]
        # "农历八月廿六" is not among the spellings.
        stated = finds(fold(text), group_of(tuple(group), kind, (), row["language"]))
        found += written or [(find.start, find.end) for find in stated]
    longest: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda place: (place[0] - place[1], place)):
        if all(end <= other or last <= start for other, last in longest):
            longest.append((start, end))
    return sorted(longest)


def _written(text: str, word: str) -> list[tuple[int, int]]:
    edge = r"(?<![^\W_])(?=\w)|(?<!\w)(?=\W)" if word.isascii() else ""
    pattern = rf"(?:{edge}){re.escape(word)}" + (r"(?!\w)" if word.isascii() else "")
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]


def _put(text: str, place: tuple[int, int], value: str) -> str:
    """A text with a value in place of a fact: its article fits it, and no ending is said twice."""
    before, after = text[: place[0]], text[place[1] :]
    if re.search(r"(?:^| )an? $", before):
        before = re.sub(r"an? $", "an " if value[0] in "aeiou" else "a ", before)
    if re.match(r"[\u4e00-\u9fff]", after) and value.endswith(after[0]):
        after = after[1:]
    return before + value + after


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# Judging ------------------------------------------------------------------------------------------------------------


def verdicts(judge: Judge, said: Sequence[Said]) -> list[float | None]:
    """The score of each answer by the metric `correct`, one at a time."""
    return [judge(one.id, one.text).metrics["correct"] for one in said]


def file_verdicts(dataset: Path, said: Sequence[Said], folder: Path) -> list[float | None]:
    """The same of answer files, one for each wrapping, in which a row has all its answers as samples."""
    scores: dict[Said, float | None] = {}
    for wrapping in dict.fromkeys(one.wrapping for one in said):
        answers = [one for one in said if one.wrapping == wrapping]
        path = folder / f"{wrapping}.jsonl"
        write_lines(path, [{"id": one.id, "prediction": one.text} for one in answers])
        report = evaluate(dataset, path, metrics=("correct",), missing="exclude", samples="mean")
        table = report.scores if report.samples is None else report.samples
        found = dict(zip(zip(table["id"], table["prediction"], strict=True), table["correct"], strict=True))
        scores |= {one: found[one.id, one.text] for one in answers}
    return [scores[one] for one in said]


def write_lines(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write records as JSONL."""
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")


def main() -> None:
    asked = rows()
    said = [one for row in asked for one in said_of(row)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dataset = folder / "rows.jsonl"
        write_lines(dataset, asked)
        scores = verdicts(Judge(dataset, metrics=("correct",)), said)
        from_files = file_verdicts(dataset, said, folder)
    print("| part | language | rows | right answers | judged wrong | wrong answers | judged right |")
    print("|---|---|---:|---:|---:|---:|---:|")
    judged = {row["id"]: [(0, 0), (0, 0)] for row in asked}
    for one, score in zip(said, scores, strict=True):
        count, wrong = judged[one.id][one.score == _WRONG]
        judged[one.id][one.score == _WRONG] = (count + 1, wrong + (score != one.score))
    for (part, language), group in groupby(asked, lambda row: (row["part"], row["language"])):
        ids = [row["id"] for row in group]
        sums = [sum(judged[id][kind][place] for id in ids) for kind in (0, 1) for place in (0, 1)]
        print(f"| {part} | {language} | {len(ids)} | {' | '.join(f'{number:,}' for number in sums)} |")
    apart = [place for place, one in enumerate(said) if scores[place] != one.score]
    differ = [place for place in range(len(said)) if scores[place] != from_files[place]]
    print(f"\n{len(said):,} answers, {len(apart):,} wrong verdicts; Judge and evaluate differ on {len(differ):,}.\n")
    for place in apart[: None if "--all" in sys.argv else MOST_SHOWN]:
        print(f"{said[place].id} {said[place].wrapping}: {scores[place]} for {said[place].text!r}")
    for place in differ[:MOST_SHOWN]:
        print(f"{said[place].id} {said[place].wrapping}: {scores[place]} and {from_files[place]}")


if __name__ == "__main__":
    main()
