"""Defines the columns of published question sets, and of a plain form of ours, and reads the questions of a row.

The metric of a form is that of its own evaluator where it has one: docs/question-sets.md has the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from niah_gen.errors import shown
from niah_gen.tasks.questions.question import (
    LETTERS,
    ExternalQuestion,
    QuestionTruth,
    choice_truth,
    class_truth,
    language_of,
    listed_choice_truth,
    open_truth,
    options_in,
    worded_question,
)
from niah_score.contract import METRIC_NAMES, unknown_metric

# Those that the family's templates and instructions to reply are written in.
_LANGUAGES = ("en", "zh")
_USUAL_OPTIONS = 4
_LV_EVAL_TOKENS = 64


class WrongFieldsError(ValueError):
    """The fields of a row are wrong. `problems`: a sentence each, which begins with the field."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class RowFields:
    """Reads the fields of a row and collects what is wrong with them. `labels`: all labels of the file."""

    def __init__(self, fields: Mapping[str, Any], labels: Sequence[str] = ()) -> None:
        self.fields = fields
        self.labels = labels
        self.problems: list[str] = []

    def text(self, name: str, *, blank: bool = False) -> str:
        """A text; a blank one is wrong unless `blank`."""
        value = self.fields.get(name)
        if not isinstance(value, str) or not (blank or value.strip()):
            return self.wrong(name, "a text" if blank else "a text that is not blank", value)
        return self._encodable(name, value)

    def texts(self, name: str) -> list[str]:
        """A text or a list of texts: at least one, and none blank."""
        value = self.fields.get(name)
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not listed or not all(isinstance(n, str) and n.strip() for n in listed):
            return [self.wrong(name, "a text or a list of texts, none of them blank", value)]
        return [self._encodable(name, text) for text in listed]

    def optional_texts(self, name: str) -> list[str]:
        """The same; none if the field is missing or empty."""
        return self.texts(name) if self.fields.get(name) not in (None, "", []) else []

    def wrong(self, name: str, expected: str, found: object) -> str:
        """Adds a problem about a field; returns a text to continue with."""
        there = f"found {shown(found)}" if name in self.fields else "there is none"
        self.problems.append(f"{name}: expected {expected}; {there}")
        return "-"

    def _encodable(self, name: str, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            return self.wrong(name, "a text without half surrogate pairs", text)
        return text

    def language(self, document: str, question: str) -> str:
        """The language that the row states, else that of its texts. Code is asked about in English."""
        stated = self.fields.get("language")
        if stated in (None, "", "code"):
            return language_of(document, question)
        if stated not in _LANGUAGES:
            self.wrong("language", f"one of {', '.join(_LANGUAGES)}", stated)
            return "en"
        return str(stated)


class QuestionForm(NamedTuple):
    """The form of a question set. `what`: whose form it is. `columns`: a file that has them all is of this form.

    `read`: yields the questions of a row. `labels`: the column whose values in the whole file are the possible answers.
    """

    name: str
    what: str
    columns: tuple[str, ...]
    read: Callable[[RowFields], Iterator[ExternalQuestion]]
    labels: str | None = None


def _question(row: RowFields, document: str, language: str, truth: QuestionTruth, **more: Any) -> ExternalQuestion:
    """A question. Raises WrongFieldsError if a field of its row was wrong."""
    if row.problems:
        raise WrongFieldsError(row.problems)
    return ExternalQuestion(
        "", language, document, truth.asked, truth.answers, truth.metric, truth.keywords, truth.decoys, **more
    )


def _plain(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question, answers = row.text("document"), row.text("question"), row.texts("answers")
    options, evidence = row.optional_texts("choices"), row.optional_texts("evidence")
    language = row.language(document, question)
    metric = row.fields.get("metric") or ("choice" if options else "word_f1")
    if metric not in METRIC_NAMES:
        row.problems.append(f"metric: {unknown_metric(str(metric))}")
    _check_evidence(row, document, evidence)
    if options:
        truth = _of_options(row, "choices", "answers", question, options, answers, language)
        truth = truth._replace(metric=metric)
    else:
        truth = open_truth(question, answers, metric)
    yield _question(row, document, language, truth, evidence=tuple(text.strip() for text in evidence))


def _check_evidence(row: RowFields, document: str, evidence: Sequence[str]) -> None:
    """Every passage must occur in the document exactly once, and no two may overlap."""
    placed = []
    for passage in (text.strip() for text in evidence):
        at = document.find(passage)
        if at < 0 or document.find(passage, at + 1) >= 0:
            where = "nowhere in the document" if at < 0 else "in the document more than once"
            expected = "evidence: expected a passage that is in the document once"
            row.problems.append(f"{expected}; {shown(passage)} is {where}")
        if at >= 0:
            placed.append((at, at + len(passage)))
    placed.sort()
    if any(left[1] > right[0] for left, right in pairwise(placed)):
        row.problems.append("evidence: two passages overlap; give them as one")


def _of_options(
    row: RowFields,
    column: str,
    answer: str,
    question: str,
    options: Sequence[str],
    answers: Sequence[str],
    language: str,
) -> QuestionTruth:
    """The truth of a choice; its answers are letters, or the options themselves."""
    if not 2 <= len(options) <= len(LETTERS) or len(set(options)) < len(options):
        row.wrong(column, f"2 to {len(LETTERS)} different options", options)
        return open_truth(question, answers, "choice")
    right: set[int] = set()
    bare_options = [option.strip() for option in options]
    for text in answers:
        bare = text.strip()
        if text in options:
            right.add(options.index(text))
        elif bare in bare_options:
            right.add(bare_options.index(bare))
        elif set(bare) <= set(LETTERS[: len(options)]):
            right |= {LETTERS.index(letter) for letter in bare}
        else:
            row.wrong(answer, f"letters from A to {LETTERS[len(options) - 1]}, or an option verbatim", text)
            return open_truth(question, answers, "choice")
    return choice_truth(question, options, sorted(right), language)


def _l_eval(row: RowFields) -> Iterator[ExternalQuestion]:
    """L-Eval's closed-ended tasks: a document, a list of instructions, and an output for each."""
    document, asked, outputs = row.text("input"), row.texts("instructions"), row.texts("outputs")
    if len(asked) != len(outputs):
        row.problems.append(f"outputs: expected as many as instructions, {len(asked)}; found {len(outputs)}")
    pairs = list(zip(asked, outputs, strict=False))
    # The same for all questions of a document, so that the wording does not give away which have several answers.
    several = any(len(output.strip()) > 1 and _is_letters(question, output.strip()) for question, output in pairs)
    for question, output in pairs:
        language, bare = row.language(document, question), output.strip()
        if _is_letters(question, bare):
            truth = listed_choice_truth(question, bare, language, several)
        else:
            truth = open_truth(question, [output], "exact")
        yield _question(row, document, language, truth)
    if row.problems:
        raise WrongFieldsError(row.problems)


def _is_letters(question: str, output: str) -> bool:
    """Whether an output is option letters in order: of the listed options, or A to D if none are listed."""
    options = len(options_in(question)) or _USUAL_OPTIONS
    return set(output) <= set(LETTERS[:options]) and list(output) == sorted(set(output))


class _LongBenchSet(NamedTuple):
    metric: str
    max_new_tokens: int
    blank: str = ""


# LongBench's dataset2metric and dataset2maxlen. `_line`: its evaluator reads only the first line.
LONGBENCH_SETS = {
    "narrativeqa": _LongBenchSet("longbench_qa_f1", 128),
    "qasper": _LongBenchSet("longbench_qa_f1", 128),
    "multifieldqa_en": _LongBenchSet("longbench_qa_f1", 64),
    "multifieldqa_zh": _LongBenchSet("longbench_qa_f1_zh", 64),
    "hotpotqa": _LongBenchSet("longbench_qa_f1", 32),
    "2wikimqa": _LongBenchSet("longbench_qa_f1", 32),
    "musique": _LongBenchSet("longbench_qa_f1", 32),
    "dureader": _LongBenchSet("longbench_rouge_zh", 128),
    "gov_report": _LongBenchSet("longbench_rouge", 512, "summary"),
    "qmsum": _LongBenchSet("longbench_rouge", 512, "summary"),
    "multi_news": _LongBenchSet("longbench_rouge", 512, "summary"),
    "vcsum": _LongBenchSet("longbench_rouge_zh", 512, "summary"),
    "trec": _LongBenchSet("longbench_classification", 64),
    "triviaqa": _LongBenchSet("longbench_qa_f1_line", 32),
    "samsum": _LongBenchSet("longbench_rouge_line", 128, "summary"),
    "lsht": _LongBenchSet("longbench_classification", 64),
    "lcc": _LongBenchSet("longbench_code_sim", 64, "code"),
    "repobench-p": _LongBenchSet("longbench_code_sim", 64, "code"),
}
_PASSAGE_SETS = ("passage_count", "passage_retrieval_en", "passage_retrieval_zh")


def _longbench(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question, answers = row.text("context"), row.text("input", blank=True), row.texts("answers")
    language = row.language(document, question)
    name = str(row.fields.get("dataset") or "").removesuffix("_e")
    if name in _PASSAGE_SETS:
        row.problems.append(
            f"dataset: {name!r} has its own published prompt; build it with --set task=longbench-file "
            f"--set options.dataset={name}"
        )
    usual = _LongBenchSet("longbench_qa_f1_zh" if language == "zh" else "longbench_qa_f1", 0)
    kind = LONGBENCH_SETS.get(name, usual)
    if not question.strip() and not kind.blank:
        row.wrong("input", "a text that is not blank", question)
    classes = row.optional_texts("all_classes")
    asked = worded_question(question, kind.blank or "summary", language)
    if kind.metric == "longbench_classification" or (name not in LONGBENCH_SETS and classes):
        if not classes:
            row.wrong("all_classes", "a list of classes", row.fields.get("all_classes"))
        truth = class_truth(asked, answers, classes, language)
    else:
        truth = open_truth(asked, answers, kind.metric)
    yield _question(row, document, language, truth, max_new_tokens=kind.max_new_tokens or None)


def _longbench_2(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question = row.text("context"), row.text("question")
    options = [row.text(f"choice_{letter}") for letter in "ABCD"]
    answer = row.text("answer").strip()
    language = row.language(document, question)
    if not row.problems and answer not in tuple("ABCD"):
        row.wrong("answer", "A, B, C or D", answer)
    truth = open_truth(question, ["-"], "choice")
    if not row.problems:
        truth = choice_truth(question, options, [LETTERS.index(answer)], language)
    yield _question(row, document, language, truth)


def _babilong(row: RowFields) -> Iterator[ExternalQuestion]:
    """BABILong: the possible answers are the file's targets; those that the question names do not count."""
    document, question, target = row.text("input"), row.text("question"), row.text("target")
    language = row.language(document, question)
    wanted, asked = target.strip(), question.lower()
    if wanted.lower() in asked and "," not in wanted:
        row.problems.append(f"target: the question names {wanted!r}, so BABILong's evaluator never counts it")
    own = {part.strip().lower() for part in wanted.split(",")} | {wanted.lower()}
    others = [label for label in row.labels if label.lower() not in own and label.lower() not in asked]
    truth = QuestionTruth(question, (wanted,), "babilong", ((wanted,),), tuple((label,) for label in others))
    yield _question(row, document, language, truth)


def _lv_eval(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question, answers = row.text("context"), row.text("input"), row.texts("answers")
    language = row.language(document, question)
    words = [
        word for text in row.optional_texts("answer_keywords") for word in re.split(r"[\s,;，；、]+", text) if word
    ]
    truth = open_truth(question, answers, "longbench_qa_f1_zh" if language == "zh" else "longbench_qa_f1")
    if words:
        truth = truth._replace(keywords=tuple((word,) for word in dict.fromkeys(words)))
    yield _question(row, document, language, truth, max_new_tokens=_LV_EVAL_TOKENS)


def _infinite_bench(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question = row.text("context"), row.text("input", blank=True)
    answer = row.fields.get("answer")
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        row.fields = {**row.fields, "answer": str(answer)}
    answers, options = row.texts("answer"), row.optional_texts("options")
    language = row.language(document, question)
    asked = worded_question(question, "summary", language)
    if options:
        truth = _of_options(row, "options", "answer", asked, options, _once(answers, options), language)
    elif not question.strip():
        truth = open_truth(asked, answers, "rouge_l")
    else:
        truth = open_truth(asked, answers, "char_f1" if language == "zh" else "longbench_qa_f1")
    yield _question(row, document, language, truth)


def _once(answers: Sequence[str], options: Sequence[str]) -> Sequence[str]:
    """The answer of a choice: InfiniteBench gives the option, and sometimes its letter as well."""
    texts = [answer for answer in answers if answer.strip() in options]
    return texts[:1] or answers


# The first form whose columns a file has is the file's, so forms with more columns come first.
FORMS: dict[str, QuestionForm] = {
    form.name: form
    for form in (
        QuestionForm("plain", "this project's own", ("document", "question", "answers"), _plain),
        QuestionForm(
            "longbench-v2", "LongBench v2's",
            ("context", "question", "choice_A", "choice_B", "choice_C", "choice_D", "answer"), _longbench_2,
        ),
        QuestionForm(
            "lv-eval", "LV-Eval's", ("input", "context", "answers", "answer_keywords"), _lv_eval
        ),
        QuestionForm("longbench", "LongBench's", ("input", "context", "answers"), _longbench),
        QuestionForm("infinite-bench", "InfiniteBench's", ("context", "input", "answer"), _infinite_bench),
        QuestionForm("babilong", "BABILong's", ("input", "question", "target"), _babilong, labels="target"),
        QuestionForm("l-eval", "L-Eval's, closed-ended", ("input", "instructions", "outputs"), _l_eval),
    )
}  # fmt: skip


def form_of(columns: Sequence[str]) -> str | None:
    """The name of the form that some columns fit; None if they fit none."""
    return next((name for name, form in FORMS.items() if set(form.columns) <= set(columns)), None)
