"""Defines the columns of published question sets, and of a plain form of ours, and reads the questions of a row.

The metric of a form is that of its own evaluator where it has one: docs/question-sets.md has the table.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.errors import shown
from niah_gen.tasks.base import LANGUAGES
from niah_gen.tasks.graph_walks import final_answer
from niah_gen.tasks.records import Item
from niah_gen.tasks.words import LIST_JOINER, wording
from niah_score.contract import METRIC_NAMES, unknown_metric

LETTERS = string.ascii_uppercase
# A line of a question that is an option: "A. ...", "(B) ...", "C、...".
_OPTION = re.compile(r"^[ \t]*[(（]?([A-Z])[.)）．、:：][ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_USUAL_OPTIONS = 4
_HAN = re.compile("[\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_SHARE_OF_HAN = 0.3
_LOOKED_AT = 4000
# What a kind of question can be called.
_KIND = re.compile(r"[A-Za-z_]{1,24}")
_LV_EVAL_TOKENS = 64
# What follows a question or takes its place, by language.
_WORDINGS = wording("questions")


class ExternalQuestion(NamedTuple):
    """A question of an external set about a document, and its truth.

    `item`: its `question` is what the prompt asks, with options and how to reply; `hide` are the passages of its
    evidence, each of which is in the document exactly once. The reader of the file gives it an id, of
    the kind that the item's own names, if any.
    """

    document: str
    item: Item


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

    def language(self, document: str, question: str) -> str:
        """The language that the row states, else that of its texts. Code is asked about in English."""
        stated = self.fields.get("language")
        if stated in LANGUAGES:
            return str(stated)
        if stated not in (None, "", "code"):
            self.wrong("language", f"one of {', '.join(LANGUAGES)}", stated)
        return language_of(document, question)

    def wrong(self, name: str, expected: str, found: object) -> str:
        """Adds a problem about a field; returns a text to continue with."""
        there = f"found {shown(found)}" if name in self.fields else "there is none"
        self.problems.append(f"{name}: expected {expected}; {there}")
        return "-"

    def check(self) -> None:
        """Raises WrongFieldsError if a field was wrong."""
        if self.problems:
            raise WrongFieldsError(self.problems)

    def _encodable(self, name: str, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            return self.wrong(name, "a text without half surrogate pairs", text)
        return text


def language_of(document: str, question: str) -> str:
    """`zh` if at least three in ten letters at the beginning are Chinese characters, else `en`."""
    text = question + document[:_LOOKED_AT]
    letters = len(_LETTER.findall(text))
    return "zh" if letters and len(_HAN.findall(text)) >= _SHARE_OF_HAN * letters else "en"


def open_item(language: str, question: str, answers: Sequence[str], metric: str) -> Item:
    """The truth of an open question: any of the answers is right, and any of them is the keyword."""
    return Item("", language, question, tuple(answers), (tuple(dict.fromkeys(answers)),), metric)


def choice_item(
    language: str, question: str, options: Sequence[str], right: Sequence[int], *, listed: bool, several: bool = False
) -> Item:
    """The truth of a choice: the letters of the right options, and the option if it is only one.

    `options`: empty if they are unknown. `right`: numbers of options, ascending. `listed`: list the options below the
    question, each after its letter. `several`: say that more than one may be right, even if one is.
    """
    letters = "".join(LETTERS[number] for number in right)
    one = len(letters) == 1
    answers = (letters, options[right[0]]) if one and right[0] < len(options) else (letters,)
    below = [_WORDINGS[language]["one" if one and not several else "several"]]
    if listed:
        below.insert(0, "\n".join(f"{LETTERS[number]}. {option}" for number, option in enumerate(options)))
    decoys = tuple((LETTERS[number], option) for number, option in enumerate(options) if number not in right)
    return Item("", language, "\n\n".join((question, *below)), answers, (), "choice", decoys=decoys)


def options_in(question: str) -> list[str]:
    """The options that a question lists from A on, one per line; empty if it lists fewer than two."""
    options: list[str] = []
    for match in _OPTION.finditer(question):
        if match[1] == LETTERS[len(options) % len(LETTERS)]:
            options.append(match[2])
        elif match[1] == "A":
            options = [match[2]]
    return options if len(options) > 1 else []


def _right_options(row: RowFields, names: tuple[str, str], options: Sequence[str], answers: Sequence[str]) -> list[int]:
    """The numbers of the options that the answers name, by their letters or in full.

    `names`: the fields of the options and of the answers. Raises WrongFieldsError.
    """
    column, answer = names
    if not 2 <= len(options) <= len(LETTERS) or len(set(options)) < len(options):
        row.wrong(column, f"2 to {len(LETTERS)} different options", options)
        row.check()
    known = [*options, *(option.strip() for option in options)]
    right: set[int] = set()
    for text in answers:
        bare = text.strip()
        if text in known or bare in known:
            right.add(known.index(text if text in known else bare) % len(options))
        elif set(bare) <= set(LETTERS[: len(options)]):
            right |= {LETTERS.index(letter) for letter in bare}
        else:
            row.wrong(answer, f"letters from A to {LETTERS[len(options) - 1]}, or an option verbatim", text)
    row.check()
    return sorted(right)


def _plain(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question, answers = row.text("document"), row.text("question"), row.texts("answers")
    options, evidence = row.optional_texts("choices"), [text.strip() for text in row.optional_texts("evidence")]
    language = row.language(document, question)
    metric = row.fields.get("metric") or ("choice" if options else "word_f1")
    if metric not in METRIC_NAMES:
        row.problems.append(f"metric: {unknown_metric(str(metric))}")
    _check_evidence(row, document, evidence)
    if options:
        right = _right_options(row, ("choices", "answers"), options, answers)
        item = choice_item(language, question, options, right, listed=True)
    else:
        item = open_item(language, question, answers, metric)
    yield ExternalQuestion(document, item._replace(metric=metric, hide=tuple(evidence)))


def _check_evidence(row: RowFields, document: str, evidence: Sequence[str]) -> None:
    """Every passage must occur in the document exactly once, and no two may overlap."""
    placed = []
    for passage in evidence:
        at = document.find(passage)
        if at < 0 or at != document.rfind(passage):
            where = "nowhere in the document" if at < 0 else "in the document more than once"
            expected = "evidence: expected a passage that is in the document once"
            row.problems.append(f"{expected}; {shown(passage)} is {where}")
        if at >= 0:
            placed.append((at, at + len(passage)))
    if any(left[1] > right[0] for left, right in pairwise(sorted(placed))):
        row.problems.append("evidence: two passages overlap; give them as one")


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
            right = [LETTERS.index(letter) for letter in bare]
            item = choice_item(language, question, options_in(question), right, listed=False, several=several)
        else:
            item = open_item(language, question, [output], "exact")
        yield ExternalQuestion(document, item)


def _is_letters(question: str, output: str) -> bool:
    """Whether an output is option letters in order: of the listed options, or A to D if none are listed."""
    options = len(options_in(question)) or _USUAL_OPTIONS
    return set(output) <= set(LETTERS[:options]) and list(output) == sorted(set(output))


LONGBENCH_SETS = tomllib.loads((Path(__file__).parents[2] / "library" / "longbench" / "sets.toml").read_text("utf-8"))
_PASSAGE_SETS = ("passage_count", "passage_retrieval_en", "passage_retrieval_zh")
_USUAL_F1 = {"en": "longbench_qa_f1", "zh": "longbench_qa_f1_zh"}


def _longbench(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question, answers = row.text("context"), row.text("input", blank=True), row.texts("answers")
    language = row.language(document, question)
    name = str(row.fields.get("dataset") or "").removesuffix("_e")
    if name in _PASSAGE_SETS:
        row.problems.append(
            f"dataset: {name!r} has its own published prompt; build it with --set task=longbench-file "
            f"--set options.dataset={name}"
        )
    known = LONGBENCH_SETS.get(name, {"metric": _USUAL_F1[language]})
    if not question.strip():
        if "blank" not in known:
            row.wrong("input", "a text that is not blank", question)
        question = _WORDINGS[language][known.get("blank", "summary")]
    classes = row.optional_texts("all_classes")
    item = open_item(language, question, answers, known["metric"])
    if item.metric == "longbench_classification" or (name not in LONGBENCH_SETS and classes):
        if not classes:
            row.wrong("all_classes", "a list of classes", row.fields.get("all_classes"))
        item = _among_classes(item, classes)
    yield ExternalQuestion(document, item._replace(max_new_tokens=known.get("tokens")))


def _among_classes(item: Item, classes: Sequence[str]) -> Item:
    """The truth of a classification: the classes are named after the question, and the wrong ones are decoys."""
    named = LIST_JOINER[item.language].join(classes)
    return item._replace(
        question=f"{item.question}\n\n{_WORDINGS[item.language]['class'].format(classes=named)}",
        keywords=(item.answers,),
        metric="longbench_classification",
        decoys=tuple((name,) for name in dict.fromkeys(classes) if name not in item.answers),
    )


_CHOICES = ("choice_A", "choice_B", "choice_C", "choice_D")


def _longbench_2(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question = row.text("context"), row.text("question")
    options = [row.text(name) for name in _CHOICES]
    answer = row.text("answer").strip()
    language = row.language(document, question)
    row.check()
    if answer not in tuple("ABCD"):
        row.wrong("answer", "A, B, C or D", answer)
        row.check()
    yield ExternalQuestion(document, choice_item(language, question, options, [LETTERS.index(answer)], listed=True))


# LongBench v2's prompts/0shot.txt after its text, and the places of the row's fields in the order of filling in.
_V2_ASKS = (
    "What is the correct answer to this question: $Q$\nChoices:\n(A) $C_A$\n(B) $C_B$\n(C) $C_C$\n(D) $C_D$\n\n"
    'Format your response as follows: "The correct answer is (insert answer here)".'
)
_V2_PLACES = dict(zip(("$Q$", "$C_A$", "$C_B$", "$C_C$", "$C_D$"), ("question", *_CHOICES), strict=True))
_V2_TOKENS = 128


def _longbench_2_published(row: RowFields) -> Iterator[ExternalQuestion]:
    """LongBench v2 in its own prompt, which fills in one field after another, also in texts filled in before."""
    document, item = next(_longbench_2(row))
    asked, document = _V2_ASKS, document.strip()
    for place, name in _V2_PLACES.items():
        asked, document = (text.replace(place, row.text(name).strip()) for text in (asked, document))
    kinds = [str(row.fields.get(name) or "") for name in ("difficulty", "length")]
    yield ExternalQuestion(
        document,
        item._replace(
            id="-".join(kinds) if all(map(_KIND.fullmatch, kinds)) else "", language="en", question=asked,
            metric="longbench_v2", max_new_tokens=_V2_TOKENS,
        ),
    )  # fmt: skip


# What begins the part of a prompt of GraphWalks that asks, and room for reasoning and for each node in a reply.
_OPERATION = "\nOperation:\n"
_GRAPHWALKS_TOKENS, _TOKENS_A_NODE = 4096, 10


def _graphwalks(row: RowFields) -> Iterator[ExternalQuestion]:
    """OpenAI's GraphWalks: whole prompts, of which the last operation is the question."""
    prompt, kind = row.text("prompt"), row.text("problem_type")
    nodes = [] if row.fields.get("answer_nodes") == [] else row.texts("answer_nodes")
    if any(re.search(r"[\[\],\n]", node) or node != node.strip() for node in nodes):
        row.wrong("answer_nodes", "names of nodes without commas, brackets or blanks around them", nodes)
    if not _KIND.fullmatch(kind):
        row.wrong("problem_type", "a word such as bfs or parents", kind)
    head, operation, tail = prompt.rpartition(_OPERATION)
    if not operation:
        row.wrong("prompt", "a text with a line Operation:", prompt)
    row.check()
    answers, known = final_answer(nodes), tuple((node,) for node in dict.fromkeys(nodes))
    item = Item(kind, "en", operation[1:] + tail, (answers,), known, "graphwalks", keyword_kinds=("text",) * len(known))
    yield ExternalQuestion(f"{head}\n", item._replace(max_new_tokens=_GRAPHWALKS_TOKENS + _TOKENS_A_NODE * len(nodes)))


def _babilong(row: RowFields) -> Iterator[ExternalQuestion]:
    """BABILong: the possible answers are the file's targets; those that the question names do not count."""
    document, question, target = row.text("input"), row.text("question"), row.text("target").strip()
    asked = question.lower()
    if target.lower() in asked and "," not in target:
        row.problems.append(f"target: the question names {target!r}, so BABILong's evaluator never counts it")
    own = {part.strip().lower() for part in target.split(",")} | {target.lower()}
    others = [label for label in row.labels if label.lower() not in own and label.lower() not in asked]
    item = open_item(row.language(document, question), question, [target], "babilong")
    yield ExternalQuestion(document, item._replace(decoys=tuple((label,) for label in others)))


def _lv_eval(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question, answers = row.text("context"), row.text("input"), row.texts("answers")
    language = row.language(document, question)
    words = re.split(r"[\s,;，；、]+", " ".join(row.optional_texts("answer_keywords")))
    item = open_item(language, question, answers, _USUAL_F1[language])
    if any(words):
        item = item._replace(keywords=tuple((word,) for word in dict.fromkeys(words) if word))
    yield ExternalQuestion(document, item._replace(max_new_tokens=_LV_EVAL_TOKENS))


def _infinite_bench(row: RowFields) -> Iterator[ExternalQuestion]:
    document, question = row.text("context"), row.text("input", blank=True)
    answer = row.fields.get("answer")
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        row.fields = {**row.fields, "answer": str(answer)}
    answers, options = row.texts("answer"), row.optional_texts("options")
    language = row.language(document, question)
    asked = question if question.strip() else _WORDINGS[language]["summary"]
    if options:
        # The answer of a choice is the option, and sometimes its letter as well.
        named = [answer for answer in answers if answer.strip() in options][:1] or answers
        right = _right_options(row, ("options", "answer"), options, named)
        item = choice_item(language, asked, options, right, listed=True)
    else:
        metric = "char_f1" if language == "zh" else "longbench_qa_f1"
        item = open_item(language, asked, answers, metric if question.strip() else "rouge_l")
    yield ExternalQuestion(document, item)


class QuestionForm(NamedTuple):
    """The form of a question set. `what`: whose form it is. `columns`: a file that has them all is of this form.

    `read`: yields the questions of a row. `labels`: the column whose values in the whole file are the possible answers.
    `template`: the only one that makes its published prompts. `whole`: whether its documents are never cut.
    """

    name: str
    what: str
    columns: tuple[str, ...]
    read: Callable[[RowFields], Iterator[ExternalQuestion]]
    labels: str | None = None
    template: str | None = None
    whole: bool = False


# The first form whose columns a file has is the file's, so forms with more columns come first.
FORMS: dict[str, QuestionForm] = {
    form.name: form
    for form in (
        QuestionForm("plain", "this project's own", ("document", "question", "answers"), _plain),
        QuestionForm("longbench-v2", "LongBench v2's", ("context", "question", *_CHOICES, "answer"), _longbench_2),
        # It has the same columns, so it is never recognised, only asked for.
        QuestionForm(
            "longbench-v2-published", "LongBench v2's", ("context", "question", *_CHOICES, "answer"),
            _longbench_2_published, template="longbench-v2",
        ),
        QuestionForm(
            "graphwalks", "GraphWalks's", ("prompt", "answer_nodes", "problem_type"), _graphwalks,
            template="graphwalks", whole=True,
        ),
        QuestionForm("lv-eval", "LV-Eval's", ("input", "context", "answers", "answer_keywords"), _lv_eval),
        QuestionForm("longbench", "LongBench's", ("input", "context", "answers"), _longbench),
        QuestionForm("infinite-bench", "InfiniteBench's", ("context", "input", "answer"), _infinite_bench),
        QuestionForm("babilong", "BABILong's", ("input", "question", "target"), _babilong, labels="target"),
        QuestionForm("l-eval", "L-Eval's, closed-ended", ("input", "instructions", "outputs"), _l_eval),
    )
}  # fmt: skip
