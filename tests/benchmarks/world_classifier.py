"""A classifier of answers to the questions of worlds, which has never seen the schema that it answers.

It is a logistic regression on features of a question and a possible answer: where the sentences that name it stand, how
long they are, in which order of dates, what else they name, how far it is from the question's name along shared names.
`words` adds the words of question and sentences: how many they share, every pair of them, and every word of the
question beside every other feature.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from seen_worlds import Answer, Seen

_SIZE = 1 << 17  # hash codes of features
_PENALTY = 3.0
_NONE = ""  # the candidate "not stated"


Codes = NDArray[np.int32]


class Candidates(NamedTuple):
    """The possible answers to all questions of some worlds. `question`, `schema`: its number, and its schema's name."""

    values: list[str]
    features: csr_array
    is_right: NDArray[np.float64]
    question: NDArray[np.int64]
    schema: NDArray[np.str_]


def candidates_of(worlds: Sequence[Seen], *, words: bool) -> Candidates:
    """The candidates of all questions, numbered through."""
    values: list[str] = []
    codes: list[Codes] = []
    right: list[bool] = []
    question: list[int] = []
    schema: list[str] = []
    number = 0
    for seen in worlds:
        bare = [_words(text) for text in seen.without_names((*seen.questions, *seen.records))]
        asked, told = bare[: len(seen.questions)], bare[len(seen.questions) :]
        steps = _steps(seen)
        for nth in range(len(seen.questions)):
            for value in _possible(seen, nth):
                names = [*_features(seen, nth, value, steps)]
                if words:
                    with_name = [told[place] for place in np.flatnonzero(seen.named[nth]) if value in seen.held[place]]
                    shared = max((len({*asked[nth]} & {*one}) for one in with_name), default=0)
                    names.append(f"shares {min(shared, 4)}")
                    codes.append(_pairs(asked[nth], [*names, *(word for one in with_name for word in one)]))
                else:
                    codes.append(_codes(names))
                values.append(value)
                right.append(value in seen.right[nth] if value else not seen.right[nth])
                question.append(number)
                schema.append(seen.schema)
            number += 1
    known, places = np.unique(np.concatenate(codes), return_inverse=True)
    ends = np.cumsum([0, *map(len, codes)])
    matrix = csr_array((np.ones(len(places)), places, ends), (len(values), len(known)))
    return Candidates(values, matrix, np.array(right, float), np.array(question), np.array(schema))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]", text.lower())


def _codes(names: Sequence[str]) -> Codes:
    return np.array([zlib.crc32(name.encode()) % _SIZE for name in names], np.int32)


def _pairs(words: Sequence[str], others: Sequence[str]) -> Codes:
    """A code for each of `others`, and for each pair of a word and one of them, once each."""
    beside = _codes(others)
    pairs = np.add.outer(_codes(words) * 31, beside).ravel() % _SIZE
    return np.unique(np.concatenate([beside, pairs]))


def _possible(seen: Seen, nth: int) -> Iterator[str]:
    """The candidates of a question: values that it does not name, of a list those of its people; some numbers; none."""
    question = seen.questions[nth]
    beside = {value for held, holds in zip(seen.held, seen.named[nth], strict=True) if holds for value in held}
    if seen.part == "tally":
        yield from (value for value in seen.values if value in question)
    else:
        yield from (one for one in seen.values if one not in question and (one in beside or seen.part != "lists"))
    if seen.part == "tally":
        yield from map(str, range(1, 21))
    if seen.part == "moves":
        yield from map(str, range(2, 6))
    if seen.part != "lists":
        yield _NONE


def _features(seen: Seen, nth: int, value: str, steps: dict[tuple[str, str], int]) -> Iterator[str]:
    """What form tells of a candidate."""
    named = [int(place) for place in np.flatnonzero(seen.named[nth])]
    if not value or (value.isdigit() and seen.part != "records"):
        yield f"number, {int(value) - len(named)} more than named" if value else f"none, {len(named)} named"
        yield f"the number {value}"
        yield f"{'a' if seen.names[nth] else 'no'} name, {'number' if value else 'none'}"
        return
    places = [place for place, held in enumerate(seen.held) if value in held]
    with_name = [place for place in places if place in named]
    yield f"{min(len(places), 4)} sentences, {min(len(with_name), 3)} with the name"
    yield f"{steps.get((seen.names[nth], value), 0)} steps"
    yield f"day asked {seen.asked_days[nth] >= 0}"
    if seen.part == "tally":
        yield f"at {seen.questions[nth].index(value) // 8}"
    lengths = sorted(named, key=lambda place: len(seen.records[place]))
    days = sorted(named, key=seen.days.__getitem__)
    earlier = [place for place in days if seen.days[place] <= seen.asked_days[nth]]
    before = [place for place in days if any(other in seen.questions[nth] for other in seen.held[place])]
    for place in with_name:
        for what, order in (("place", named), ("length", lengths), ("day", days)):
            at, last = order.index(place), len(order) - 1
            yield f"{what} {'only' if not last else 'first' if not at else 'last' if at == last else 'between'}"
            yield f"{what} {5 * at // (last + 1)} of 5"
        if seen.asked_days[nth] >= 0:
            yield f"{'last earlier' if earlier[-1:] == [place] else 'earlier' if place in earlier else 'later'}"
        if before and seen.part == "moves":
            yield f"days from the named {max(-2, min(2, days.index(place) - days.index(before[0])))}"
        record = seen.records[place]
        yield f"name {'before' if record.lower().find(seen.names[nth].lower()) < record.find(value) else 'after'}"
        yield f"{len(record) // 20} long"
        yield f"commas {min(2, record.count(',') + record.count('，'))}"
        yield f"begins {record.startswith(value)}"


def _steps(seen: Seen) -> dict[tuple[str, str], int]:
    """How many sentences lead from one value to another, in threads."""
    pairs = {pair for held in seen.held if seen.part == "threads" for pair in (tuple(held), tuple(held[::-1]))}
    found = {(one, one): 0 for one in seen.values}
    for step in range(1, 5):
        for (start, middle), steps in list(found.items()):
            for one, other in pairs:
                if one == middle and steps == step - 1:
                    found.setdefault((start, other), step)
    return found


def answers_left_out(known: Candidates) -> list[Answer]:
    """The answer to every question, by a classifier fitted to all other schemas."""
    answers: list[Answer] = [frozenset()] * (int(known.question.max()) + 1)
    are_lists = _NONE not in known.values
    for schema in np.unique(known.schema):
        left_out = known.schema == schema
        weights = _fitted(known.features[~left_out], known.is_right[~left_out])
        scores = known.features[left_out] @ weights[1:] + weights[0]
        best: dict[int, tuple[float, str]] = {}
        for row, score in zip(np.flatnonzero(left_out).tolist(), scores.tolist(), strict=True):
            question, value = int(known.question[row]), known.values[row]
            if are_lists and score > 0:
                answers[question] |= {value}
            best[question] = max(best.get(question, (-np.inf, "")), (score, value))
        if not are_lists:
            for question, (_, value) in best.items():
                answers[question] = frozenset({value} - {_NONE})
    return answers


def _fitted(features: csr_array, is_right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The intercept and weights of a logistic regression."""
    turned = features.T.tocsr()

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = features @ weights[1:] + weights[0]
        apart = 1 / (1 + np.exp(-margin)) - is_right
        slope = turned @ apart + _PENALTY * weights[1:]
        value = np.logaddexp(0, margin).sum() - is_right @ margin + _PENALTY / 2 * (weights[1:] @ weights[1:])
        return float(value), np.concatenate([[apart.sum()], slope])

    found = minimize(loss, np.zeros(features.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 40})
    return np.asarray(found.x)
