"""Draws RULER's two question sets: questions of SQuAD or HotpotQA, with their documents among others."""

from __future__ import annotations

import random
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import FitError, RecipeError
from niah_gen.tasks.published.files import json_of, read_once
from niah_gen.tasks.published.ruler.draft import RulerDraft, RulerRun
from niah_gen.tokenizers.find import Tokenizer

# The published file of each set.
FILES = {"qa_1": "SQuAD's dev-v2.0.json", "qa_2": "hotpot_dev_distractor_v1.json"}


class Question(NamedTuple):
    """A question, its accepted answers, and the numbers of its own documents and of related ones."""

    text: str
    answers: tuple[str, ...]
    gold: list[int]
    related: list[int]


# Documents, sorted, and the questions about them in the order of the file.
QuestionSet = tuple[list[str], list[Question]]


@read_once
def read_questions(path: Path, task: str) -> QuestionSet:
    """The published file of a task. Raises RecipeError if it does not have that form."""
    where = f"options.questions: {path}"
    data = json_of(path.read_bytes(), where)
    try:
        return _squad(data) if task == "qa_1" else _hotpotqa(data)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise RecipeError([f"{where}: expected {FILES[task]} ({type(error).__name__}: {error})"]) from None


def _squad(data: Any) -> QuestionSet:
    contexts = sorted({paragraph["context"] for article in data["data"] for paragraph in article["paragraphs"]})
    numbers = {text: number for number, text in enumerate(contexts)}
    questions = []
    for article in data["data"]:
        own = [numbers[paragraph["context"]] for paragraph in article["paragraphs"]]
        for paragraph in article["paragraphs"]:
            gold = numbers[paragraph["context"]]
            related = [number for number in own if number != gold]
            for asked in paragraph["qas"]:
                if not asked["is_impossible"]:
                    answers = tuple(answer["text"] for answer in asked["answers"])
                    questions.append(Question(asked["question"], answers, [gold], related))
    return contexts, questions


def _hotpotqa(data: Any) -> QuestionSet:
    own = [[f"{title}\n{''.join(sentences)}" for title, sentences in row["context"]] for row in data]
    documents = sorted({text for texts in own for text in texts})
    numbers = {text: number for number, text in enumerate(documents)}
    return documents, [
        Question(row["question"], (row["answer"],), [numbers[text] for text in texts], [])
        for row, texts in zip(data, own, strict=True)
    ]


class Questions(RulerRun):
    """The generator of one run. A size is a number of documents; the first question is asked to search for it."""

    reply = 32

    def __init__(self, seed: int, length: int, template: str, tokenizer: Tokenizer, question_set: QuestionSet) -> None:
        super().__init__(seed, length, template, tokenizer)
        self._documents, self._questions = question_set

    def draft(self, size: int, sample: int) -> RulerDraft:
        """One prompt. Draws the documents beside those of the question. Raises FitError if there is no question."""
        if sample >= len(self._questions):
            count = len(self._questions)
            raise FitError(f"repeat {sample}: the file has {count} questions, one for each repeat; ask for fewer")
        question = self._questions[sample]
        texts = self._texts(question, size)
        random.Random(self.seed).shuffle(texts)
        context = "\n\n".join(f"Document {number}:\n{text}" for number, text in enumerate(texts, 1))
        return self.drawn("questions", context, question.answers, query=question.text)

    def _texts(self, question: Question, size: int) -> list[str]:
        """`size` documents: the question's own, related ones, then any others; all of them repeated if too few."""
        documents, own, related = self._documents, question.gold, question.related
        if size >= len(documents):
            return list(islice(cycle(documents), size))
        missing = size - len(own)
        others: list[int] = []
        if 0 < missing <= len(related):
            others = self.draw.sample(related, missing)
        elif missing > 0:
            rest = sorted({*range(len(documents))} - {*own, *related})
            others = [*related, *self.draw.sample(rest, missing - len(related))]
        return [documents[number] for number in (*own, *others)]
