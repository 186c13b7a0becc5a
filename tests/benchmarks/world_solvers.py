"""Shows what solvers that read no meaning get in worlds, beside what answers drawn by lot get.

    PYTHONPATH=tests/oracle python tests/benchmarks/world_solvers.py [--worlds 60] [--level 2] [--parts records moves]

They know the corpora by heart, so they see the hidden sentences alone, and know which words are names and values. The
table has the percentage of right answers by part, English / Chinese, and the mean of the parts. `--worlds`: of each
schema; the classifier is fitted to at most 30. Below are the solvers that are farther from lot, in either direction,
than 3 points in a part or 6 in a schema. Lot is a value of a random sentence that holds the question's name; for
solvers that walk in threads, a random name that is no neighbour of the start.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from seen_worlds import LANGUAGES, Answer, Seen, judged, said, worlds
from world_classifier import answers_left_out, candidates_of
from worlds import answer as looked_up

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import read_corpus
from niah_gen.tasks.worlds.schemas import PARTS, schemas

Floats = NDArray[np.float64]
_PERSONS_OF_A_LIST = 2  # how many a solver answers with that cannot tell how many there are
_CORPORA = {"en": "en_essays", "zh": "zh_articles"}
_FILLER = 3_000


# Sentences: by form, and by words that they share with the question.


def picked(seen: Seen, scores: Floats, rng: np.random.Generator, *, named: bool = True) -> list[Answer]:
    """For each question, a value of the best sentence, or of those with its name; of a list, its two best people.

    A tally has no values: the answer is how many sentences score at least half of the best one, or the first class.
    """
    answers = []
    for question, line, holds in zip(seen.questions, scores + 1e-9 * rng.random(scores.shape), seen.named, strict=True):
        places = np.flatnonzero(holds) if named else np.arange(len(line))
        order = places[np.argsort(-line[places])]
        if seen.part == "tally":
            first = min((value for value in seen.values if value in question), key=question.index, default="")
            answers.append(frozenset([first or str(int((line[places] >= line[places].max() / 2).sum()))]))
            continue
        values = [value for place in order for value in seen.held[place] if value not in question]
        answers.append(frozenset(list(dict.fromkeys(values))[: _PERSONS_OF_A_LIST if seen.part == "lists" else 1]))
    return answers


def terms(text: str, form: str) -> list[str]:
    """What a search counts. Chinese words are taken to be characters, and their stems pairs of characters."""
    text = text.lower()
    words = re.findall(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]", text)
    if form == "words":
        return words
    if form == "stems":
        if re.search(r"[\u3400-\u9fff]", text):
            return [one + other for one, other in pairwise(words)]
        return [word[:4] for word in words]
    size = int(form[0])
    return [text[at : at + size] for at in range(len(text) - size + 1)]


@cache
def rarity(language: str, form: str) -> tuple[Counter[str], float]:
    """In how many of the corpus's sentences each term is, and how many terms a sentence has."""
    texts = (document.text for document in read_corpus(locate(_CORPORA[language])).documents)
    sentences = (part for text in texts for part in re.split(r"(?<=[.!?。！？])\s*", text) if part)
    listed = [terms(sentence, form) for sentence in islice(sentences, _FILLER)]
    return Counter(term for one in listed for term in set(one)), fmean(map(len, listed))


def searched(queries: Sequence[str], records: Sequence[str], language: str, rule: str, form: str) -> Floats:
    """The score of each record for each query, by BM25 or the cosine of TF-IDF; what is rare is so in the corpus."""
    holding, mean = rarity(language, form)
    counts = [Counter(terms(record, form)) for record in records]
    asked = [set(terms(query, form)) for query in queries]
    known = {term: number for number, term in enumerate(set().union(*asked))}
    weight = {term: np.log(1 + _FILLER / (holding[term] + 1)) for one in (*counts, *asked) for term in one}
    matrix = np.zeros((len(records), len(known)))
    for number, one in enumerate(counts):
        length = sum(one.values())
        norm = np.sqrt(sum((count * weight[term]) ** 2 for term, count in one.items())) or 1.0
        for term, count in one.items():
            if term in known:
                damped = count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean))
                matrix[number, known[term]] = weight[term] * (damped if rule == "BM25" else count * weight[term] / norm)
    wanted = np.array([[term in one for term in known] for one in asked], float)
    return wanted @ matrix.T


SEARCHES = (("BM25", "words"), ("BM25", "stems"), ("BM25", "3-grams"), ("TF-IDF", "words"), ("TF-IDF", "2-grams"))


def sentence_solvers(seen: Seen) -> Iterator[tuple[str, Floats, bool]]:
    """Name, score of each sentence for each question, and whether only those with the question's name count."""
    flat = np.ones((len(seen.questions), 1))
    lengths = np.array([len(record) for record in seen.records], float)
    places = np.arange(len(seen.records), dtype=float)
    yield "shortest sentence with the name", flat * -lengths, True
    yield "longest sentence with the name", flat * lengths, True
    yield "first sentence with the name", flat * -places, True
    yield "last sentence with the name", flat * places, True
    if seen.part == "moves":
        yield "latest date with the name", flat * np.array(seen.days, float), True
    bare = seen.without_names(seen.questions), seen.without_names(seen.records)
    shared = searched(*bare, seen.language, "BM25", "words")
    yield "fewest shared words", -shared, True
    for rule, form in SEARCHES:
        yield f"{rule}, {form}", searched(seen.questions, seen.records, seen.language, rule, form), False
        yield f"{rule}, {form}, besides the name", searched(*bare, seen.language, rule, form), True


# Shapes: what dates, numbers of mentions and shared names tell without a word of the sentences.


def walks(seen: Seen, rng: np.random.Generator, *, in_order: bool) -> list[Answer]:
    """The end that most walks of 3 or 4 steps along shared names reach, which is no neighbour of the start."""
    number = {value: nth for nth, value in enumerate(seen.values)}
    near = np.zeros((len(number), len(number)))
    for one, other in seen.held:
        near[number[one], number[other]] += 1
    beside = near + near.T
    steps = near if in_order else beside
    ends = np.linalg.matrix_power(steps, 3) + np.linalg.matrix_power(steps, 4) + 1e-6 * rng.random(near.shape)
    starts = [number[name] for name in seen.names]
    ends[beside > 0] = -1
    np.fill_diagonal(ends, -1)
    return [frozenset([seen.values[int(ends[start].argmax())]]) for start in starts]


def by_dates(seen: Seen, fewer: int) -> list[Answer]:
    """The records of a thing by date, as if each told a move. `fewer`: subtracted from their number."""
    answers: list[Answer] = []
    for question, holds, asked in zip(seen.questions, seen.named, seen.asked_days, strict=True):
        places = sorted(np.flatnonzero(holds), key=seen.days.__getitem__)
        values = [seen.held[place][0] for place in places]
        before = [value for value in values if value in question]
        if re.search("[Hh]ow many|多少|几", question):
            answers.append(frozenset([str(len(places) - fewer)]))
        elif before:
            at = values.index(before[0])
            answers.append(frozenset(values[at - 1 : at] if at else ()))
        else:
            until = [value for value, place in zip(values, places, strict=True) if not 0 <= asked < seen.days[place]]
            answers.append(frozenset(until[-1:]))
    return answers


def mentioned_once(seen: Seen) -> list[Answer]:
    """The people of a list whom only one sentence names."""
    answers = []
    for holds in seen.named:
        mentions = Counter(value for place in np.flatnonzero(holds) for value in seen.held[place])
        answers.append(frozenset(value for value, count in mentions.items() if count == 1))
    return answers


def counted(seen: Seen) -> list[Answer]:
    """How many sentences hold a name; without a name, the first class."""
    answers = []
    for question, name, holds in zip(seen.questions, seen.names, seen.named, strict=True):
        first = min((value for value in seen.values if value in question), key=question.index, default="")
        answers.append(frozenset([str(int(holds.sum())) if name else first]))
    return answers


SHAPES: dict[str, dict[str, Callable[[Seen, np.random.Generator], list[Answer]]]] = {
    "threads": {
        "walk along shared names": lambda seen, rng: walks(seen, rng, in_order=False),
        "walk from the name before to the name after": lambda seen, rng: walks(seen, rng, in_order=True),
    },
    "moves": {
        "dates in order, cancelled or not": lambda seen, _: by_dates(seen, 0),
        "the same, one subtracted from counts": lambda seen, _: by_dates(seen, 1),
    },
    "lists": {"who is mentioned once": lambda seen, _: mentioned_once(seen)},
    "tally": {"sentences with the name": lambda seen, _: counted(seen)},
}  # fmt: skip


# By lot, and the run.

BY_LOT, LOT_OF_WALKS = "by lot", "by lot, no neighbour"
FIXED, BLIND, DUMP, LOOKUP = (
    "best fixed answer",
    "bound of fixed answers",
    "all values",
    "lookup that holds all templates",
)
CLASSIFIERS = {"classifier, form": False, "classifier, form and words": True}
_LEARNED = 30
# How far from lot a solver may be, in the mean of a part and in each schema.
_IN_PART, _IN_SCHEMA = 3.0, 6.0
Shares = dict[str, dict[str, list[float]]]  # by solver and schema, for each world


def by_lot(seen: Seen, *, neighbours: bool = True) -> float:
    """The percentage of right answers of a value from a random sentence with the question's name.

    Of a list, two of its people; of a tally, a number from 1 to 20, or a class. `neighbours`: whether a name in such a
    sentence is taken, or one in none.
    """
    shares = []
    for nth, right in enumerate(seen.right):
        beside = [seen.held[place] for place in np.flatnonzero(seen.named[nth])]
        values = [value for held in beside for value in held if value not in seen.questions[nth]]
        if seen.part == "lists":
            shares.append((len(right) == _PERSONS_OF_A_LIST) / math.comb(len({*values}), _PERSONS_OF_A_LIST))
        elif seen.part == "tally":
            shares.append(1 / len(seen.values) if right & {*seen.values} else 1 / 20)
        elif neighbours:
            shares.append(fmean(right == {value} for value in values))
        else:
            others = {*seen.values} - {*values, seen.names[nth]}
            shares.append(len(right & others) / len(others))
    return 100 * fmean(shares)


def measured(part: str, language: str, count: int, level: int) -> Shares:
    """What each solver gets in `count` worlds of each schema."""
    rng = np.random.default_rng(0)
    shares: Shares = defaultdict(lambda: defaultdict(list))
    drawn: list[Seen] = []
    fixed: Counter[Answer] = Counter()
    for nth, seen in enumerate(worlds(part, language, count, level=level)):

        def note(name: str, answers: Sequence[object], seen: Seen = seen) -> None:
            right = [one == other for one, other in zip(answers, seen.right, strict=True)]
            shares[name][seen.schema].append(100 * fmean(right))

        shares[BLIND][seen.schema].append(seen.item.chance or 0.0)
        shares[BY_LOT][seen.schema].append(by_lot(seen))
        if part == "threads":
            shares[LOT_OF_WALKS][seen.schema].append(by_lot(seen, neighbours=False))
        fixed.update(seen.right)
        for name, scores, named in sentence_solvers(seen):
            note(name, picked(seen, scores, rng, named=named))
        for name, solve in SHAPES.get(part, {}).items():
            note(name, solve(seen, rng))
        if nth < len(schemas(part, language)):
            schema = schemas(part, language)[seen.schema]
            note(LOOKUP, [looked_up(part, schema, seen.records, question) for question in seen.questions])
            named_all = said(seen, frozenset(seen.values))
            shares[DUMP][seen.schema].append(100 * fmean(judged([(asked, named_all) for asked in seen.item.asks])))
        if len(drawn) < _LEARNED * len(schemas(part, language)):
            drawn.append(seen)
    shares[FIXED]["any"].append(100 * fixed.most_common(1)[0][1] / fixed.total())
    for name, words in CLASSIFIERS.items():
        answers = iter(answers_left_out(candidates_of(drawn, words=words)))
        for seen in drawn:
            right = [next(answers) == one for one in seen.right]
            shares[name][seen.schema].append(100 * fmean(right))
    return shares


def mean_of(by_schema: dict[str, list[float]]) -> float:
    """The mean over all worlds."""
    return fmean(share for listed in by_schema.values() for share in listed)


def far_from_lot(shares: Shares) -> Iterator[str]:
    """A sentence for each solver that is too far from lot."""
    shapes = {name for of_part in SHAPES.values() for name in of_part}
    for name, by_schema in shares.items():
        if name in (FIXED, BLIND, DUMP, LOOKUP, BY_LOT, LOT_OF_WALKS):
            continue
        walking = name in shapes or name in CLASSIFIERS
        lots = shares[LOT_OF_WALKS if walking and LOT_OF_WALKS in shares else BY_LOT]
        apart = mean_of(by_schema) - mean_of(lots)
        of_schemas = {schema: fmean(listed) - fmean(lots[schema]) for schema, listed in by_schema.items()}
        far = {schema: off for schema, off in of_schemas.items() if abs(off) > _IN_SCHEMA}
        if abs(apart) > _IN_PART or far:
            named = ", ".join(
                f"{schema} {off:+.0f}" for schema, off in sorted(far.items(), key=lambda one: -abs(one[1]))
            )
            yield f"{name}: {apart:+.1f}; {named or 'no schema'}"


def table(shares: dict[tuple[str, str], Shares]) -> Iterator[str]:
    """A line for each solver, as Markdown."""
    parts = list(dict.fromkeys(part for part, _ in shares))
    yield f"| solver | {' | '.join(parts)} | mean |"
    yield f"|---|{'---:|' * (len(parts) + 1)}"
    best: dict[str, float] = {}
    for name in dict.fromkeys(name for one in shares.values() for name in one):
        cells, means = [], []
        for part in parts:
            both = [mean_of(shares[part, language][name]) for language in LANGUAGES if name in shares[part, language]]
            cells.append(" / ".join(f"{one:.1f}" for one in both) or "-")
            means += [fmean(both)] if both else []
            if both and name not in (BLIND, LOOKUP):
                best[part] = max(best.get(part, 0.0), fmean(both))
        yield (
            f"| {name} | {' | '.join(cells)} | {fmean(means):.1f} |"
            if len(means) == len(parts)
            else (f"| {name} | {' | '.join(cells)} | - |")
        )
    yield f"| best of each part | {' | '.join(f'{one:.1f}' for one in best.values())} | {fmean(best.values()):.1f} |"


def main() -> None:
    """Print the table, and who is far from lot."""
    parser = argparse.ArgumentParser(description="Solve worlds without reading.")
    parser.add_argument("--worlds", type=int, default=60, help="worlds of each schema")
    parser.add_argument("--level", type=int, default=2, choices=range(1, 4))
    parser.add_argument("--parts", nargs="+", default=PARTS, choices=PARTS)
    options = parser.parse_args()
    shares = {
        (part, language): measured(part, language, options.worlds, options.level)
        for part in options.parts
        for language in LANGUAGES
    }
    print(*table(shares), sep="\n")
    for (part, language), of_part in shares.items():
        print("", f"{part}, {language}", *far_from_lot(of_part), sep="\n")


if __name__ == "__main__":
    main()
