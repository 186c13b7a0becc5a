"""Asks questions of external sets: about whole or cut documents, or about passages of them hidden in filler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from niah_gen.errors import FitError, RecipeError
from niah_gen.haystacks.cut_document import CUTS
from niah_gen.prompts.frame import Frame
from niah_gen.tasks.base import CONTROLS, LANGUAGES, NO_CONTEXT, Task
from niah_gen.tasks.hiding import IN_FILLER
from niah_gen.tasks.options import OwnFile, own_file
from niah_gen.tasks.questions.document import documents
from niah_gen.tasks.questions.forms import FORMS
from niah_gen.tasks.questions.question import ExternalQuestion
from niah_gen.tasks.questions.question_file import QuestionFile, QuestionPlace, read_questions
from niah_gen.tasks.records import Cell, Context, ContextMaker, Coordinates, GridAxes, Item, Settings, Workbench
from niah_score.contract import METRIC_NAMES, unknown_metric

PADS = ("none", "evidence", "document")
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """The recipe's [options].

    `file`: the user's JSONL or Parquet file. `form`: a name of FORMS, empty to recognise it by its columns; a resolved
    recipe holds the name. `columns`: texts `name=column`, for a file whose columns have other names. `cut`: what is
    kept of a document that is longer than a length: head, tail, or both ends (middle). `pad`: what is hidden in filler
    at the row's depth: nothing, the evidence, or the whole document. `metric`: that of all rows; empty for the form's.
    `rows`: how many questions of each language, from the first on. `longest`: the most characters of a document;
    questions about longer ones are left out.
    """

    file: OwnFile
    form: str = ""
    columns: tuple[str, ...] = ()
    cut: str = "middle"
    pad: str = "none"
    metric: str = ""
    rows: int | None = None
    longest: int | None = None

    def __post_init__(self) -> None:
        for name, known in (("form", ("", *FORMS)), ("cut", CUTS), ("pad", PADS)):
            value = getattr(self, name)
            if value not in known:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(filter(None, known))}")
        if self.metric and self.metric not in METRIC_NAMES:
            raise ValueError(unknown_metric(self.metric))
        for text in self.columns:
            if not all(text.partition("=")):
                raise ValueError(f"columns holds {text!r}; expected name=column, such as document=text")
        for name, number in (("rows", self.rows), ("longest", self.longest)):
            if number is not None and number < 1:
                raise ValueError(f"{name} is {number}; expected at least 1")

    def completed(self) -> tuple[QuestionOptions, list[str]]:
        """The options with the file's form, and sentences about the file for the user.

        Raises RecipeError with everything that is wrong with the file.
        """
        file = _file_of(self)
        asked = _chosen_places(self)
        if not asked:
            raise RecipeError(
                [f"options.longest: every document of {file.path.name} has more characters; set it higher"]
            )
        without = [name for name in asked if self.pad == "evidence" and not _question(self, name).evidence]
        if without:
            shown = ", ".join(without[:_SHOWN]) + (", ..." if len(without) > _SHOWN else "")
            raise RecipeError(
                [
                    f"options.pad: {len(without)} questions have no evidence to hide ({shown}); give each a field "
                    'evidence, or set options.pad = "document"'
                ]
            )
        counts = Counter(place.language for place in asked.values())
        listed = ", ".join(f"{count} in {language}" for language, count in sorted(counts.items()))
        told = [f"{file.path.name}: {file.form.what} form, {listed}"]
        too_long = sum(_is_too_long(place, self) for place in file.places.values())
        if too_long:
            told.append(
                f"{file.path.name}: left out {too_long} questions about documents of more than {self.longest} "
                "characters"
            )
        return replace(self, form=file.form.name), told


def _file_of(options: QuestionOptions) -> QuestionFile:
    return read_questions(own_file(options.file), options.form, options.columns)


def _is_too_long(place: QuestionPlace, options: QuestionOptions) -> bool:
    return options.longest is not None and place.size > options.longest


def _chosen_places(options: QuestionOptions) -> Mapping[str, QuestionPlace]:
    """The questions to make rows of: short enough, and the first of their language."""
    counts: Counter[str] = Counter()
    chosen: dict[str, QuestionPlace] = {}
    for name, place in _file_of(options).places.items():
        if _is_too_long(place, options):
            continue
        counts[place.language] += 1
        if options.rows is None or counts[place.language] <= options.rows:
            chosen[name] = place
    return chosen


def _question(options: QuestionOptions, name: str) -> ExternalQuestion:
    question = _file_of(options).question(name)
    return question._replace(metric=options.metric) if options.metric else question


def _ids(settings: Settings, language: str) -> Sequence[str]:
    if language not in LANGUAGES:
        return []
    return [name for name, place in _chosen_places(settings.options).items() if place.language == language]


def _coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    for length in axes.lengths:
        for name in _ids(settings, language):
            yield Coordinates(length, name)


def _item(settings: Settings, cell: Cell) -> Item:
    options = settings.options
    question = _question(options, cell.needle)
    hide = question.evidence
    if options.pad == "none":
        # Needles are numbered in the order of the document, whatever order the file lists them in.
        hide = tuple(sorted(hide, key=question.document.index))
    if options.pad == "document":
        hide = (question.document.strip(),)
    return Item(
        cell.needle, question.language, question.asked, question.answers, question.keywords, question.metric, hide,
        max_new_tokens=question.max_new_tokens, decoys=question.decoys,
    )  # fmt: skip


def _hidden(bench: Workbench) -> ContextMaker:
    """As IN_FILLER, but an error that there is no room names the question."""
    make = IN_FILLER.make(bench)
    instead = ""
    if bench.options.pad == "document":
        instead = '; options.longest leaves out questions about longer documents, and options.pad = "none" cuts them'

    def made(cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        try:
            return make(cell, item, shown, frame)
        except FitError as error:
            raise FitError(f"question {cell.needle!r}: {error}{instead}") from None

    return made


def _chosen(options: Any) -> Task:
    if options.pad != "none":
        return QUESTIONS._replace(context=IN_FILLER._replace(make=_hidden))
    return QUESTIONS._replace(context=documents(partial(_question, options), options.cut), coordinates=_coordinates)


QUESTIONS = Task(
    "questions", 1, _ids, _item, QuestionOptions,
    controls={NO_CONTEXT: CONTROLS[NO_CONTEXT]}, chosen=_chosen,
)  # fmt: skip
