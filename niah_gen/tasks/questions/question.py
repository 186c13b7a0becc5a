"""Words a question of an external set, and states its truth: open, a choice, a class, a summary, or a line of code."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import NamedTuple

LETTERS = string.ascii_uppercase

# What follows a question or takes its place, by language.
WORDINGS = {
    "en": {
        "one": "Reply with the letter of the right option alone.",
        "several": "More than one option may be right. Reply with the letters of all right options and nothing else.",
        "class": "Reply with one of these classes and nothing else: {classes}.",
        "summary": "Write a summary of the document.",
        "code": "Write the next line of the code.",
    },
    "zh": {
        "one": "请只回答正确选项的字母。",
        "several": "正确选项可能不止一个。请只回答所有正确选项的字母。",
        "class": "请只回答下列类别之一：{classes}。",
        "summary": "请写出文档的摘要。",
        "code": "请写出代码的下一行。",
    },
}
_CLASS_JOINERS = {"en": ", ", "zh": "、"}
# A line of a question that is an option: "A. ...", "(B) ...", "C、...".
_OPTION = re.compile(r"^[ \t]*[(（]?([A-Z])[.)）．、:：][ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_FEWEST_OPTIONS = 2
_HAN = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_SHARE_OF_HAN = 0.3
_LOOKED_AT = 4000


class ExternalQuestion(NamedTuple):
    """A question of an external set about a document, and its truth.

    `asked`: the question as the prompt asks it, with options and how to reply. `evidence`: passages of the document
    that hold the answer; each occurs there exactly once. `max_new_tokens`: None for the recipe's.
    """

    id: str
    language: str
    document: str
    asked: str
    answers: tuple[str, ...]
    metric: str
    keywords: tuple[tuple[str, ...], ...] = ()
    decoys: tuple[tuple[str, ...], ...] = ()
    evidence: tuple[str, ...] = ()
    max_new_tokens: int | None = None


class QuestionTruth(NamedTuple):
    """The fields of `ExternalQuestion` that depend on how the question is judged."""

    asked: str
    answers: tuple[str, ...]
    metric: str
    keywords: tuple[tuple[str, ...], ...]
    decoys: tuple[tuple[str, ...], ...]


def language_of(document: str, question: str) -> str:
    """`zh` if at least three in ten letters at the beginning are Chinese characters, else `en`."""
    text = question + document[:_LOOKED_AT]
    letters = len(_LETTER.findall(text))
    return "zh" if letters and len(_HAN.findall(text)) >= _SHARE_OF_HAN * letters else "en"


def open_truth(asked: str, answers: Sequence[str], metric: str) -> QuestionTruth:
    """The truth of an open question: any of the answers is right, and any of them is the keyword."""
    return QuestionTruth(asked, tuple(answers), metric, (tuple(dict.fromkeys(answers)),), ())


def choice_truth(question: str, options: Sequence[str], right: Sequence[int], language: str) -> QuestionTruth:
    """The truth of a choice: the letters of the options numbered `right`, and the option itself if it is only one.

    The options are listed below the question, each after its letter.
    """
    listed = "\n".join(f"{LETTERS[number]}. {option}" for number, option in enumerate(options))
    return _choice(f"{question}\n\n{listed}", options, right, language)


def listed_choice_truth(question: str, letters: str, language: str, several: bool) -> QuestionTruth:
    """The same for a question that lists its options itself, or whose options are unknown.

    `several`: say that more than one may be right, even if one is.
    """
    right = [LETTERS.index(letter) for letter in letters]
    return _choice(question, options_in(question), right, language, several)


def _choice(
    asked: str, options: Sequence[str], right: Sequence[int], language: str, several: bool = False
) -> QuestionTruth:
    letters = "".join(LETTERS[number] for number in sorted(right))
    one = len(letters) == 1
    known = max(right) < len(options)
    answers = (letters, options[right[0]]) if one and known else (letters,)
    wrong = [number for number in range(len(options)) if number not in right]
    wording = WORDINGS[language]["one" if one and not several else "several"]
    decoys = tuple((LETTERS[number], options[number]) for number in wrong)
    return QuestionTruth(f"{asked}\n\n{wording}", answers, "choice", (), decoys)


def options_in(question: str) -> list[str]:
    """The options that a question lists from A on, one per line; empty if it lists none."""
    options: list[str] = []
    for match in _OPTION.finditer(question):
        if match[1] == LETTERS[len(options) % len(LETTERS)]:
            options.append(match[2])
        elif match[1] == "A":
            options = [match[2]]
    return options if len(options) >= _FEWEST_OPTIONS else []


def class_truth(question: str, answers: Sequence[str], classes: Sequence[str], language: str) -> QuestionTruth:
    """The truth of a classification: the classes are named after the question, and the wrong ones are decoys."""
    wording = WORDINGS[language]["class"].format(classes=_CLASS_JOINERS[language].join(classes))
    wrong = tuple((name,) for name in dict.fromkeys(classes) if name not in answers)
    return QuestionTruth(
        f"{question}\n\n{wording}", tuple(answers), "longbench_classification", (tuple(answers),), wrong
    )


def worded_question(question: str, kind: str, language: str) -> str:
    """A question; if it is blank, the wording for a `summary` or for `code` instead."""
    return question if question.strip() else WORDINGS[language][kind]
