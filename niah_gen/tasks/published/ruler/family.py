"""Defines RULER's thirteen tasks as one task family: each run is replayed from its seed, and sample i is repeat i."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from niah_gen.errors import suggestion
from niah_gen.prompts.messages import Piece, PromptMessage
from niah_gen.tasks.base import Replay, Task
from niah_gen.tasks.options import OwnFile, own_file
from niah_gen.tasks.published.ruler.coded_words import CodedWords
from niah_gen.tasks.published.ruler.common_words import CommonWords
from niah_gen.tasks.published.ruler.draft import Generator, RulerDraft
from niah_gen.tasks.published.ruler.essays import Essays
from niah_gen.tasks.published.ruler.niah import Niah, NiahSettings
from niah_gen.tasks.published.ruler.questions import Questions, read_questions
from niah_gen.tasks.published.ruler.templates import MODEL_TEMPLATES
from niah_gen.tasks.published.ruler.variable_tracking import VariableTracking
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_score.contract import sha256_hex

NIAH_TASKS = {
    "niah_single_1": NiahSettings("noise"),
    "niah_single_2": NiahSettings("essay"),
    "niah_single_3": NiahSettings("essay", value_kind="uuids"),
    "niah_multikey_1": NiahSettings("essay", keys=4),
    "niah_multikey_2": NiahSettings("needle"),
    "niah_multikey_3": NiahSettings("needle", "uuids", "uuids"),
    "niah_multivalue": NiahSettings("essay", values=4),
    "niah_multiquery": NiahSettings("essay", queries=4),
}
QUESTION_SETS = {"qa_1": "squad", "qa_2": "hotpotqa"}
# Every task, and the most tokens that its answers may have.
TASKS = {**dict.fromkeys(NIAH_TASKS, 128), "vt": 30, "cwe": 120, "fwe": 50, **dict.fromkeys(QUESTION_SETS, 32)}


@dataclass(frozen=True, slots=True)
class RulerOptions:
    """The recipe's [options]. `task`: a name of TASKS. `model_template`: what to put around the prompt.

    `words`: RULER's english_words.json, which cwe needs for lists of more than its 8,169 words. `questions`:
    SQuAD's dev-v2.0.json for qa_1, hotpot_dev_distractor_v1.json for qa_2.
    """

    task: str
    model_template: str = "base"
    words: OwnFile | None = None
    questions: OwnFile | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("task", self.task, TASKS),
            ("model_template", self.model_template, MODEL_TEMPLATES),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(known)}{suggestion(value, known)}")
        if self.task in QUESTION_SETS and self.questions is None:
            what = "SQuAD's dev-v2.0.json" if self.task == "qa_1" else "hotpot_dev_distractor_v1.json"
            raise ValueError(f"task {self.task!r} needs {what}; give it with --set options.questions=PATH")


def _reads_essays(options: RulerOptions) -> bool:
    return options.task in NIAH_TASKS and NIAH_TASKS[options.task].haystack == "essay"


def _chosen(options: RulerOptions) -> Task:
    """The family of a task. Without essays it needs no corpus; its ids keep the name of the one that RULER ships."""
    return RULER if _reads_essays(options) else RULER._replace(item=Replay(_replay, "paul_graham"))


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return [settings.options.task] if language == "en" else []


def _coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    for length in axes.lengths:
        for sample in range(axes.repeats):
            yield Coordinates(length, settings.options.task, sample)


def _replay(bench: Workbench) -> Callable[[Cell], Replayed]:
    """Returns the maker of samples: a later sample continues its run, an earlier one starts it again from the seed."""
    options: RulerOptions = bench.options
    runs: dict[tuple[str, int], _Run] = {}
    essays: dict[str, Essays] = {}

    def essays_of(corpus: str) -> Essays | None:
        """A corpus as essays, made once; None if the task reads none."""
        if not _reads_essays(options):
            return None
        if corpus not in essays:
            essays[corpus] = Essays([document.text for document in bench.corpora[corpus].documents], bench.tokenizer)
        return essays[corpus]

    def make(cell: Cell) -> Replayed:
        key = (cell.corpus, cell.length)
        run = runs.get(key)
        if run is None or run.next > cell.repeat:
            run = runs[key] = _Run(_generator(bench, cell.length, essays_of(cell.corpus)), cell.length, bench)
        while run.next <= cell.repeat:
            draft = run.draw()
        return _replayed(draft, cell, options, bench)

    return make


class _Run:
    """A run in progress. `next`: the number of the next sample."""

    def __init__(self, generator: Generator, length: int, bench: Workbench) -> None:
        self._generator = generator
        self._length = length
        self._counter = bench.counter
        self._size = generator.size(length, bench.counter)
        self.next = 0

    def draw(self) -> RulerDraft:
        """The next sample."""
        draft = self._generator.sample(self.next, self._size, self._length, self._counter)
        self.next += 1
        return draft


def _generator(bench: Workbench, length: int, essays: Essays | None) -> Generator:
    options: RulerOptions = bench.options
    task, template = options.task, options.model_template
    if task in NIAH_TASKS:
        return Niah(NIAH_TASKS[task], bench.seed, length, template, bench.tokenizer, essays)
    if task == "vt":
        return VariableTracking(bench.seed, length, template, bench.tokenizer, bench.counter)
    if task == "cwe":
        return CommonWords(bench.seed, length, template, own_file(options.words) if options.words else None)
    if task == "fwe":
        return CodedWords(bench.seed, length, template)
    assert options.questions is not None
    return Questions(bench.seed, template, read_questions(QUESTION_SETS[task], own_file(options.questions)))


def _replayed(draft: RulerDraft, cell: Cell, options: RulerOptions, bench: Workbench) -> Replayed:
    task = options.task
    any_output = task in QUESTION_SETS
    outputs = draft.outputs
    item = Item(
        cell.draw, cell.language, draft.question,
        outputs if any_output else (", ".join(outputs),),
        tuple((output,) for output in outputs), "ruler_part" if any_output else "ruler_all",
        draft.needles, draft.prefix, TASKS[task], keyword_kinds=("text",) * len(outputs),
    )  # fmt: skip
    tokens, depths = draft.depths(bench.counter)
    pieces = (Piece(draft.before), *draft.context, Piece(draft.after))
    filler = b"".join(part for piece in draft.context if piece.needle < 0 for part in piece.fragment().utf8)
    return Replayed(
        item,
        Context((PromptMessage(None, pieces),), sha256_hex(filler)[:12], tokens, depths, draft.passes),
    )


RULER = Task(
    "ruler", 1, _ids, Replay(_replay), RulerOptions, coordinates=_coordinates,
    chosen=_chosen
)  # fmt: skip
