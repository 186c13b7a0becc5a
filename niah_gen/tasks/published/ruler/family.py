"""Defines RULER's thirteen tasks as one task family: each run is replayed from its seed, and sample i is repeat i."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product, starmap

from niah_gen.prompts.frame import said
from niah_gen.tasks.base import Replay, Task
from niah_gen.tasks.options import OwnFile, check_options, own_file
from niah_gen.tasks.published.ruler.draft import RulerDraft, RulerRun, templates
from niah_gen.tasks.published.ruler.essays import essays_of
from niah_gen.tasks.published.ruler.niah import Niah, NiahSettings, VariableTracking
from niah_gen.tasks.published.ruler.questions import FILES, Questions, read_questions
from niah_gen.tasks.published.ruler.words import CodedWords, CommonWords
from niah_gen.tasks.records import Cell, Context, Coordinates, GridAxes, Item, Replayed, Settings, Workbench
from niah_gen.tokenizers.find import Tokenizer
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
# Every task, and the most tokens that its answers may have.
TASKS = {**dict.fromkeys(NIAH_TASKS, 128), "vt": 30, "cwe": 120, "fwe": 50, **dict.fromkeys(FILES, 32)}


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
        check_options(self, task=list(TASKS), model_template=list(templates()["models"]))
        if self.task in FILES and self.questions is None:
            raise ValueError(f"task {self.task!r} needs {FILES[self.task]}; give it with --set options.questions=PATH")


def _reads_essays(options: RulerOptions) -> bool:
    return options.task in NIAH_TASKS and NIAH_TASKS[options.task].haystack == "essay"


def _chosen(options: RulerOptions) -> Task:
    """The family of a task. Without essays it needs no corpus; its ids keep the name of the one that RULER ships."""
    return RULER if _reads_essays(options) else RULER._replace(item=Replay(_replay, "paul_graham"))


def _ids(settings: Settings, language: str) -> Sequence[str]:
    return [settings.options.task] if language == "en" else []


def _coordinates(settings: Settings, axes: GridAxes, language: str) -> Iterator[Coordinates]:
    return starmap(Coordinates, product(axes.lengths, [settings.options.task], range(axes.repeats)))


def _replay(bench: Workbench) -> Callable[[Cell], Replayed]:
    """Returns the maker of samples: a later sample continues its run, an earlier one starts it again from the seed."""
    runs: dict[tuple[str, int], RulerRun] = {}

    def make(cell: Cell) -> Replayed:
        key = (cell.corpus, cell.length)
        if key not in runs or runs[key].number > cell.repeat:
            runs[key] = _run(bench, cell)
        while runs[key].number <= cell.repeat:
            draft = runs[key].next()
        return _replayed(draft, cell, bench.options.task, bench.tokenizer)

    return make


def _run(bench: Workbench, cell: Cell) -> RulerRun:
    options: RulerOptions = bench.options
    task, common = options.task, (bench.seed, cell.length, options.model_template, bench.tokenizer)
    if task in NIAH_TASKS:
        essays = essays_of(bench.corpora[cell.corpus], bench.tokenizer) if _reads_essays(options) else None
        return Niah(NIAH_TASKS[task], *common, essays)
    if task == "vt":
        return VariableTracking(*common)
    if task == "cwe":
        return CommonWords(*common, own_file(options.words) if options.words else None)
    if task == "fwe":
        return CodedWords(*common)
    assert options.questions is not None
    return Questions(*common, read_questions(own_file(options.questions), task))


def _replayed(draft: RulerDraft, cell: Cell, task: str, tokenizer: Tokenizer) -> Replayed:
    any_output, outputs = task in FILES, draft.outputs
    item = Item(
        cell.draw, cell.language, draft.question, outputs if any_output else (", ".join(outputs),),
        tuple((output,) for output in outputs), "ruler_part" if any_output else "ruler_all", draft.needles,
        draft.prefix, TASKS[task], keyword_kinds=("text",) * len(outputs),
    )  # fmt: skip
    filler, tokens, before, starts = draft.filler(tokenizer)
    turn = said(None, draft.before + draft.context + draft.after, starts, draft.needles)
    depths = tuple(100 * each / max(tokens, 1) for each in before)
    return Replayed(item, Context((turn,), sha256_hex(filler.encode())[:12], tokens, depths, draft.passes))


RULER = Task("ruler", 1, _ids, Replay(_replay), RulerOptions, coordinates=_coordinates, chosen=_chosen)
