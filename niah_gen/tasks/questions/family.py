"""Asks questions of external sets: about whole or cut documents, or about passages of them hidden in filler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

from niah_gen.errors import FitError, RecipeError
from niah_gen.haystacks.cut_document import CUTS, CutText, Stretch
from niah_gen.prompts.frame import Frame, said
from niah_gen.tasks.base import NO_CONTEXT, Task, no_context
from niah_gen.tasks.hiding import IN_FILLER, ContextKind
from niah_gen.tasks.options import OwnFile, check_options, own_file
from niah_gen.tasks.questions.forms import FORMS, ExternalQuestion
from niah_gen.tasks.questions.question_file import QuestionFile, QuestionPlace, read_questions
from niah_gen.tasks.records import Cell, Context, ContextMaker, Coordinates, GridAxes, Item, Settings, Workbench
from niah_gen.tokenizers.counted import Counted, count, counted
from niah_score.contract import METRIC_NAMES, sha256_hex, unknown_metric

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
        check_options(self, form=("", *FORMS), cut=CUTS, pad=("none", "evidence", "document"))
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
        file, asked = _file_of(self), _chosen_places(self)
        if not asked:
            problem = f"options.longest: every document of {file.path.name} has more characters; set it higher"
            raise RecipeError([problem])
        if file.form.whole and self.pad != "none":
            problem = f"options.pad: {file.form.what} prompts are whole and cannot be hidden in others; leave pad out"
            raise RecipeError([problem])
        without = [name for name in asked if self.pad == "evidence" and not _question(self, name).item.hide]
        if without:
            shown = ", ".join(without[:_SHOWN]) + (", ..." if len(without) > _SHOWN else "")
            problem = f"options.pad: {len(without)} questions have no evidence to hide ({shown}); give each a field "
            raise RecipeError([problem + 'evidence, or set options.pad = "document"'])
        counts = Counter(place.language for place in asked.values())
        listed = ", ".join(f"{count} in {language}" for language, count in sorted(counts.items()))
        told = [f"{file.path.name}: {file.form.what} form, {listed}"]
        longer = sum(self.longest is not None and place.size > self.longest for place in file.places.values())
        if longer:
            what = f"{longer} questions about documents of more than {self.longest} characters"
            told.append(f"{file.path.name}: left out {what}")
        return replace(self, form=file.form.name), told


def _file_of(options: QuestionOptions) -> QuestionFile:
    return read_questions(own_file(options.file), options.form, options.columns)


def _chosen_places(options: QuestionOptions) -> Mapping[str, QuestionPlace]:
    """The questions to make rows of: short enough, and the first of their language."""
    counts: Counter[str] = Counter()
    chosen: dict[str, QuestionPlace] = {}
    for name, place in _file_of(options).places.items():
        if options.longest is None or place.size <= options.longest:
            counts[place.language] += 1
            if options.rows is None or counts[place.language] <= options.rows:
                chosen[name] = place
    return chosen


def _question(options: QuestionOptions, name: str) -> ExternalQuestion:
    question = _file_of(options).question(name)
    return question._replace(item=question.item._replace(metric=options.metric)) if options.metric else question


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return [name for name, place in _chosen_places(settings.options).items() if place.language == language]


def _coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    for length in axes.lengths:
        for name in _ids(settings, language):
            yield Coordinates(length, name)


def _item(settings: Settings, cell: Cell) -> Item:
    pad = settings.options.pad
    document, item = _question(settings.options, cell.needle)
    if pad == "document":
        return item._replace(hide=(document.strip(),))
    # Needles in their document are numbered in its order, whatever order the file lists them in.
    return item._replace(hide=tuple(sorted(item.hide, key=document.index))) if pad == "none" else item


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


def evidence_in(question: ExternalQuestion) -> list[Stretch]:
    """Where the passages of a question's evidence are in its document, in order."""
    starts = ((question.document.index(passage), passage) for passage in question.item.hide)
    return sorted(Stretch(start, start + len(passage)) for start, passage in starts)


def document_id(document: str) -> str:
    """A digest of a whole document: rows about it share their haystack_id, however it is cut."""
    return sha256_hex(document.encode())[:12]


class _Documents:
    """Makes contexts of documents: whole in rows without a length, else cut to it; shorter ones stay whole.

    Consecutive cells about a document encode it once.
    """

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._source: Counted | None = None

    def __call__(self, cell: Cell, item: Item, shown: Item, frame: Frame) -> Context:
        """The context of a cell. Raises FitError if the length has no room for it."""
        question = _question(self._bench.options, cell.needle)
        document = question.document
        if self._source is None or self._source.text != document:
            self._source = counted(document, self._bench.tokenizer)
        cut = CutText(self._source, evidence_in(question))
        fits = partial(self._fits, cut, frame, cell.length)
        stretches: list[Stretch] | None = [Stretch(0, len(document))]
        if cell.length and not fits(stretches or ()):
            if FORMS[self._bench.options.form].whole:
                raise FitError(
                    f"question {cell.needle!r}: length {cell.length} has no room for its prompt, which is never cut; "
                    "ask for longer lengths or none, or leave long prompts out with options.longest"
                )
            stretches = cut.cut(self._bench.options.cut, fits)
        if stretches is None:
            passages = "the passages of its evidence" if item.hide else "a sentence of its document"
            raise FitError(
                f"question {cell.needle!r}: length {cell.length} has no room for {passages}; ask for longer lengths or "
                "a smaller reserve, or leave the question out of the file"
            )
        return self._context(document, cut.pieces(stretches))

    def _context(self, document: str, pieces: Sequence[tuple[str, int]]) -> Context:
        def tokens(count: int) -> int:
            """Tokens of the first pieces without needles."""
            return self._bench.tokenizer.count("".join(text for text, needle in pieces[:count] if needle < 0))

        whole = tokens(len(pieces))
        depths = (100 * tokens(at) / max(1, whole) for at, (_, needle) in enumerate(pieces) if needle >= 0)
        places = accumulate((len(text) for text, _ in pieces), initial=0)
        found = sorted((number, at, text) for at, (text, number) in zip(places, pieces, strict=False) if number >= 0)
        starts, needles = [at for _, at, _ in found], [text for *_, text in found]
        turn = said(None, "".join(text for text, _ in pieces), starts, needles)
        return Context((turn,), document_id(document), whole, tuple(min(100.0, depth) for depth in depths))

    def _fits(self, cut: CutText, frame: Frame, length: int, stretches: Sequence[Stretch]) -> bool:
        tokenizer = self._bench.tokenizer
        edits = cut.edits(stretches, frame.before, frame.after)
        tokens = count(cut.source, edits, len(cut.source.text), tokenizer)
        return tokens + sum(map(tokenizer.count, frame.others)) <= length - self._bench.reserve


def _chosen(options: QuestionOptions) -> Task:
    task = QUESTIONS._replace(template=FORMS[options.form].template if options.form else None)
    if options.pad != "none":
        return task._replace(context=IN_FILLER._replace(make=_hidden))
    return task._replace(
        context=ContextKind(_Documents, exact=True, corpus="questions", without_length=True),
        coordinates=_coordinates,
    )


QUESTIONS = Task(
    "questions", 1, _ids, _item, QuestionOptions, controls={NO_CONTEXT: no_context}, chosen=_chosen
)  # fmt: skip
