"""Asks questions of external sets: about documents whole or cut, or about passages of them hidden in filler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from niah_gen.errors import FitError, RecipeError
from niah_gen.haystacks.cut_document import CUTS
from niah_gen.prompts.frame import Frame
from niah_gen.tasks.base import Settled, Task
from niah_gen.tasks.controls import CONTROLS, NO_CONTEXT
from niah_gen.tasks.hiding import IN_FILLER, ContextKind
from niah_gen.tasks.own_files import OwnFile, own_file
from niah_gen.tasks.questions.document import documents
from niah_gen.tasks.questions.forms import FORMS
from niah_gen.tasks.questions.question import ExternalQuestion
from niah_gen.tasks.questions.question_file import QuestionFile, QuestionPlace, read_questions
from niah_gen.tasks.records import Cell, Context, ContextMaker, Coordinates, GridAxes, Item, Settings, Workbench
from niah_score.contract import METRIC_NAMES, unknown_metric

PADS = ("none", "evidence", "document")


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """The recipe's [options].

    `file`: JSONL or Parquet of the user's own. `form`: a name of FORMS, empty to recognise it by its columns; a
    resolved recipe holds the name. `columns`: texts `name=column`, for a file whose columns have other names. `cut`:
    what is kept of a document that is longer than a length: head, tail, or both ends (middle). `pad`: what is hidden in
    filler at an asked depth: nothing, the evidence, or the whole document. `metric`: that of all rows; empty for the
    form's. `rows`: so many of the first questions of each language. `longest`: questions about documents of more
    characters are left out.
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


def _file_of(options: QuestionOptions) -> QuestionFile:
    return read_questions(own_file(options.file), options.form, options.columns)


def _chosen_places(options: QuestionOptions) -> Mapping[str, QuestionPlace]:
    """The questions that rows are made of: short enough, and the first of their language."""
    counts: dict[str, int] = {}
    found: dict[str, QuestionPlace] = {}
    for name, place in _file_of(options).places.items():
        if options.longest is not None and place.size > options.longest:
            continue
        counts[place.language] = counts.get(place.language, 0) + 1
        if options.rows is None or counts[place.language] <= options.rows:
            found[name] = place
    return found


def settle(options: QuestionOptions) -> Settled:
    """The options with the form that the file has, and what the user is told of it.

    Raises RecipeError with all that is wrong with the file.
    """
    file = _file_of(options)
    chosen = _chosen_places(options)
    if not chosen:
        raise RecipeError([f"options.longest: every document of {file.path.name} has more characters; set it higher"])
    counts: dict[str, int] = {}
    for place in chosen.values():
        counts[place.language] = counts.get(place.language, 0) + 1
    asked = ", ".join(f"{count} in {language}" for language, count in sorted(counts.items()))
    told = [f"{file.path.name}: {file.form.what} form, {asked}"]
    too_long = 0
    if options.longest is not None:
        too_long = sum(place.size > options.longest for place in file.places.values())
    if too_long:
        told.append(f"{file.path.name}: {too_long} left out, whose document has more than {options.longest} characters")
    return Settled(replace(options, form=file.form.name), tuple(told))


def _question(options: QuestionOptions, name: str) -> ExternalQuestion:
    found = _file_of(options).question(name)
    return found._replace(metric=options.metric) if options.metric else found


def _ids(settings: Settings, language: str) -> Sequence[str]:
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
        # In the document they stand in its order, whatever the file's is; needles are numbered by that.
        hide = tuple(sorted(hide, key=question.document.index))
    if options.pad == "document":
        hide = (question.document.strip(),)
    return Item(
        cell.needle, question.language, question.asked, question.answers, question.keywords, question.metric, hide,
        max_new_tokens=question.max_new_tokens, decoys=question.decoys,
    )  # fmt: skip


def _wrong_settings(settings: Settings) -> Iterator[str]:
    """Questions without evidence have no passage to hide."""
    options = settings.options
    if options.pad != "evidence":
        return
    without = [name for name in _chosen_places(options) if not _question(options, name).evidence]
    if without:
        shown = ", ".join(without[:_SHOWN]) + (", ..." if len(without) > _SHOWN else "")
        yield (
            f"options.pad: {len(without)} questions have no evidence to hide ({shown}); give each the field evidence, "
            'or set options.pad = "document"'
        )


_SHOWN = 10


def _hidden(bench: Workbench) -> ContextMaker:
    """As IN_FILLER; where there is no room, the question is named."""
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


_IN_FILLER: ContextKind = IN_FILLER._replace(make=_hidden)


def _chosen(options: Any) -> Task:
    if options.pad != "none":
        return QUESTIONS._replace(context=_IN_FILLER)

    def find(name: str) -> ExternalQuestion:
        return _question(options, name)

    return QUESTIONS._replace(
        corpus="questions", context=documents(find, options.cut), coordinates=_coordinates, without_length=True
    )


QUESTIONS = Task(
    "questions", 1, _ids, _item, QuestionOptions,
    controls={NO_CONTEXT: CONTROLS[NO_CONTEXT]}, wrong_settings=_wrong_settings, chosen=_chosen, settle=settle,
)  # fmt: skip
