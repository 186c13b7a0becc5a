"""Draws RULER's two question sets: questions of SQuAD or HotpotQA, with their documents among others."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from niah_gen.errors import FitError, RecipeError
from niah_gen.prompts.messages import Piece
from niah_gen.tasks.published.ruler.draft import RulerDraft, fitting, searched_size
from niah_gen.tasks.published.ruler.templates import QUESTIONS, filled
from niah_gen.tokenizers.spliced import Counter


class Question(NamedTuple):
    """A question, its accepted answers, and the numbers of its own documents and of related ones."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[int, ...]
    related: tuple[int, ...]


class QuestionSet(NamedTuple):
    """Documents, sorted, and the questions about them in the order of the file."""

    documents: tuple[str, ...]
    questions: tuple[Question, ...]


@lru_cache(maxsize=4)
def read_questions(kind: str, path: Path) -> QuestionSet:
    """SQuAD's dev-v2.0.json or HotpotQA's dev distractor file. `kind`: squad or hotpotqa.

    Raises RecipeError if the file does not have that form.
    """
    try:
        data = orjson.loads(path.read_bytes())
        return _squad(data) if kind == "squad" else _hotpotqa(data)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        what = "SQuAD's dev-v2.0.json" if kind == "squad" else "hotpot_dev_distractor_v1.json"
        raise RecipeError([f"options.questions: {path}: expected {what} ({type(error).__name__}: {error})"]) from None


def _squad(data: Any) -> QuestionSet:
    contexts = sorted({paragraph["context"] for article in data["data"] for paragraph in article["paragraphs"]})
    numbers = {text: number for number, text in enumerate(contexts)}
    questions = []
    for article in data["data"]:
        own = [numbers[paragraph["context"]] for paragraph in article["paragraphs"]]
        for paragraph in article["paragraphs"]:
            gold = numbers[paragraph["context"]]
            for asked in paragraph["qas"]:
                if not asked["is_impossible"]:
                    answers = tuple(answer["text"] for answer in asked["answers"])
                    related = tuple(number for number in own if number != gold)
                    questions.append(Question(asked["question"], answers, (gold,), related))
    return QuestionSet(tuple(contexts), tuple(questions))


def _hotpotqa(data: Any) -> QuestionSet:
    def text_of(title: str, sentences: list[str]) -> str:
        return f"{title}\n{''.join(sentences)}"

    documents = sorted({text_of(title, sentences) for row in data for title, sentences in row["context"]})
    numbers = {text: number for number, text in enumerate(documents)}
    questions = [
        Question(
            row["question"], (row["answer"],), tuple(numbers[text_of(*document)] for document in row["context"]), ()
        )
        for row in data
    ]
    return QuestionSet(tuple(documents), tuple(questions))


class Questions:
    """The generator of one run. A size is a number of documents."""

    reply = 32
    step = 10

    def __init__(self, seed: int, model_template: str, question_set: QuestionSet) -> None:
        self._seed = seed
        self._draw = random.Random(seed)
        self._model_template = model_template
        self._set = question_set

    def size(self, length: int, counter: Counter) -> int:
        """The number of documents to try first in every sample, searched for with the first question."""
        return searched_size(self, length, counter)

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt. Draws the documents beside those of the question."""
        question = self._set.questions[sample]
        texts = self._texts(question, size)
        random.Random(self._seed).shuffle(texts)
        context = "\n\n".join(f"Document {number}:\n{text}" for number, text in enumerate(texts, 1))
        frames = filled(QUESTIONS, self._model_template, query=question.text)
        return RulerDraft(
            frames.before, (Piece(context),), frames.after, frames.prefix, frames.question, question.answers
        )

    def sample(self, number: int, size: int, length: int, counter: Counter) -> RulerDraft:
        """The prompt of the next sample. Raises FitError if there is no question for it."""
        if number >= len(self._set.questions):
            count = len(self._set.questions)
            raise FitError(f"repeat {number}: the file has {count} questions, one for each repeat; ask for fewer")
        return fitting(self, size, number, length, counter)

    def _texts(self, question: Question, size: int) -> list[str]:
        """`size` documents: the question's own, related ones, then any others; all of them repeated if too few."""
        documents = self._set.documents
        if size >= len(documents):
            return list(islice(cycle(documents), size))
        own, related = question.gold, question.related
        missing = size - len(own)
        if missing <= 0:
            others: list[int] = []
        elif missing <= len(related):
            others = self._draw.sample(related, missing)
        else:
            taken = {*own, *related}
            rest = [number for number in range(len(documents)) if number not in taken]
            others = [*related, *self._draw.sample(rest, missing - len(related))]
        return [documents[number] for number in (*own, *others)]
