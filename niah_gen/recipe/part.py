"""Reads the fields of a recipe, or of one of its parts, that decide its rows, and collects everything that is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Any

from niah_gen.corpora.find import locate
from niah_gen.errors import RecipeError, suggestion
from niah_gen.fields import Fields, one_of, parse_boolean, parse_text
from niah_gen.haystacks.boundaries import BOUNDARIES
from niah_gen.haystacks.placements import PLACEMENTS
from niah_gen.prompts.templates import (
    base_name,
    is_file,
    own_templates,
    read_template_file,
    template_names,
    wrong_system,
)
from niah_gen.recipe import recipe as values
from niah_gen.recipe.recipe import Part, Recipe, preset_text, stated
from niah_gen.tasks.base import FromFiles, Task, is_published
from niah_gen.tasks.needle import SINGLE, task_for
from niah_gen.tasks.needle_library import Needle, library_needles
from niah_gen.tasks.options import options_table, own_file, own_files, read_options
from niah_gen.tasks.records import Settings
from niah_gen.tasks.registry import as_chosen, find_task, is_own
from niah_score.contract import PromptForm

DEFAULT_CORPORA: tuple[str, ...] = ("en_essays", "zh_articles")
Tell = Callable[[str], None]
# The modules that a recipe may import beside the package's; None for the user's own recipe, which may import any.
Modules = Collection[str] | None
LEAKS = ("drop", "refuse", "report")
# What belongs to the whole recipe.
SHARED_FIELDS = tuple(one.name for one in fields(Recipe) if one.name != "parts")
_OF_PARTS = ("name", "weight")
# `paraphrase` chooses which question of a needle is asked; a resolved recipe has that question instead.
FIELDS = (*SHARED_FIELDS, *(one.name for one in fields(Part) if one.name not in _OF_PARTS), "paraphrase")


class PartReader(Fields):
    """Reads a part. `allowed`: as for `find_task`; if None, corpora and family must be on this machine.

    `tell` gets sentences about its files.
    """

    def __init__(self, name: str | None, raw: Mapping[str, Any], problems: list[str], tell: Tell, allowed: Modules):
        super().__init__(raw, problems, known=(*FIELDS, "parts") if name is None else (*FIELDS, "weight"))
        self.name, self.tell, self.allowed, self.here = name, tell, allowed, allowed is None

    def part(self) -> Part:
        """The part. Adds everything that is wrong with it to the problems."""
        read = stated(Part, self)
        task_name, task = self._task()
        replays = task is not None and is_published(task)
        kind = PLACEMENTS[self.take("placement", one_of(PLACEMENTS), "published" if replays else "native")]
        if (task is not None or self.here) and replays != (kind.name == "published"):
            what = "replays a published generator; leave placement out" if replays else "replays none"
            self.problems.append(f"placement: {kind.name!r}, but task {task_name!r} {what}")
        needles = self._needles(task)
        if task is None and not task_name:
            task = task_for(needles)
        options = self._options(task)
        corpora = self._corpora(task, options)
        task = task and as_chosen(task, options)
        template, templates = self._template((task and task.template) or kind.template)
        usual: str | tuple[float, ...] = "diff" if "diff" in self.raw else kind.spread
        spread = self.take("spread", values.parse_spread, usual if kind.native else kind.spread)
        depths = tuple(values.depth_schedule(21, "linear", "nearest", True)) if isinstance(spread, str) else spread[:1]
        boundary = one_of(BOUNDARIES if "boundary" in kind.choices else (kind.boundary,))
        leaks = one_of(LEAKS if "leaks" in kind.choices else (kind.leaks,))
        lengths = partial(values.parse_lengths, published=not kind.native)
        part = Part(
            **read,
            task=task_name or (task.name if task else ""),
            placement=kind.name,
            template=template,
            templates=templates,
            lengths=self.take("lengths", lengths, tuple(values.halves(8000))),
            depths=self.take("depths", values.parse_depths, depths),
            spread=spread,
            boundary=self.take("boundary", boundary, kind.boundary),
            leaks=self.take("leaks", leaks, kind.leaks),
            corpora=corpora,
            needles=tuple(needle.for_use(read["controls"], read["question_language"]) for needle in needles),
            options=options,
            name=self.name,
        )
        for spec in corpora if self.here else ():
            with self.about("corpora"):
                locate(spec)
        self.problems += self._together(part, task, replays)
        return part

    def _task(self) -> tuple[str, Task | None]:
        """The family's name, empty if none is named, and the family; None if it is not on this machine."""
        name = self.take("task", parse_text, "")
        # Reading a dataset's recipe does not require the user's module.
        with self.about("task") if self.here or not is_own(name) else suppress(RecipeError):
            return name, find_task(name, allowed=self.allowed) if name else None
        return name, None

    def _needles(self, task: Task | None) -> list[Needle]:
        listed = self.raw.get("needles")
        if task is not None and not task.hides_needles:
            if listed:
                self.problems.append(f"needles: task {task.name!r} has its own items; leave needles out")
            return []
        if task is None and is_own(str(self.raw.get("task", ""))) and not listed:
            return []
        if "needles" not in self.raw:
            listed = tomllib.loads(preset_text("plain"))["needles"]
        paraphrase = self.take("paraphrase", parse_boolean, False)
        needles: list[Needle] = []
        for number, item in enumerate(listed if isinstance(listed, list | tuple) else [listed], 1):
            if isinstance(item, str) and library_needles(item):
                needles += library_needles(item)
                continue
            # Only needles of the user's own are read and worked out.
            from niah_gen.tasks.own_needles import find_needles, parse_needle

            if isinstance(item, str):
                with self.about(f"needles[{number}]"):
                    needles += find_needles(item)
            elif isinstance(item, dict):
                needle, problems = parse_needle({"id": f"needle-{number}", **item})
                self.problems += [f"needles[{number}].{problem}" for problem in problems]
                needles += [needle] if needle else []
            else:
                self.problems.append(f"needles[{number}]: expected a name or a table, found {item!r}")
        without = [needle.id for needle in needles if paraphrase and not needle.paraphrase]
        if without:
            self.problems.append(f"paraphrase: no paraphrased question for needle {', '.join(without)}")
        ids = [needle.id for needle in needles]
        for name in sorted({name for name in ids if ids.count(name) > 1}):
            self.problems.append(f"needles: {name!r} is given twice; give each needle its own id")
        if not needles and not self.problems:
            self.problems.append("needles: expected at least one name or table; found none")
        return [needle.asked(paraphrase) for needle in needles]

    def _corpora(self, task: Task | None, options: Mapping[str, Any]) -> tuple[str, ...]:
        if task is not None and as_chosen(task, options).corpus is not None:
            if self.raw.get("placement", "native") not in ("native", "published"):
                self.problems.append(f"placement: task {task.name!r} makes its own contexts; leave placement out")
            # A published command line names the corpus for all tasks of its benchmark, also for those that read none.
            # A family that reads corpora under other options leaves them in the recipe.
            if self.raw.get("corpora") and task.corpus is not None and not task.replays:
                self.problems.append(f"corpora: task {task.name!r} reads none; leave corpora out")
            return ()
        if task is None and self.raw.get("corpora") == []:
            return ()
        return self.take("corpora", values.parse_names, DEFAULT_CORPORA)

    def _options(self, task: Task | None) -> dict[str, Any]:
        """The options as TOML values; completed from the files that they name, if these must be on this machine."""
        table = Fields(self.raw.get("options", {}), self.problems, "options").raw
        if task is None:
            return dict(table)
        options, problems = read_options(task.options, table)
        self.problems += problems
        before = len(self.problems)
        for name, spec in own_files(task.options, options_table(options)).items() if self.here and not problems else ():
            with self.about(f"options.{name}"):
                own_file(spec)
        if self.here and isinstance(options, FromFiles) and len(self.problems) == before:
            with self.about("options"):
                options, told = options.completed()
                for sentence in told:
                    self.tell(sentence)
        return {} if problems else options_table(options)

    def _template(self, usual: str) -> tuple[str, Mapping[str, Any]]:
        """The template's name, and the tables of the user's own templates."""
        if is_file(self.raw.get("template")):
            with self.about("template"):
                return read_template_file(self.raw["template"])
            return usual, {}
        wrong: list[str] = []
        tables = Fields(self.raw.get("templates", {}), self.problems, "templates").raw
        own = own_templates(tables, wrong)
        self.problems += [f"templates: {problem}" for problem in wrong]
        return self.take("template", one_of(template_names(own)), usual), {} if wrong else dict(tables)

    def _together(self, part: Part, task: Task | None, replays: bool) -> Iterator[str]:
        """What is wrong with several fields together."""
        if replays and part.system:
            yield f"system: task {part.task!r} builds whole prompts itself; leave system out"
        code, needles = part.question_language, part.needles
        if task is not None:
            for control in [name for name in part.controls if name not in task.controls]:
                known = suggestion(control, task.controls) or "; it has none"
                yield f"controls: task {task.name!r} has no control {control!r}{known}"
            if code and not task.hides_needles:
                yield f"question_language: task {task.name!r} asks in the language of its texts; leave it out"
            if task.template not in (None, base_name(part.template)):
                what = f"these options of task {part.task!r} need {task.template!r}"
                yield f"template: {part.template!r}, but {what} (--template {task.template})"
            if part.lengths == values.WITHOUT_LENGTH and not (task.context.without_length or self.problems):
                yield f"lengths: the rows of task {task.name!r} need lengths; expected at least 1 token"
        if code and self.raw.get("paraphrase") is True:
            yield "question_language: a question in another language has one wording; leave paraphrase out"
        without = [needle.id for needle in needles if code and not needle.question_in(code)]
        if without:
            yield f"question_language: needle {', '.join(without)} has no question in {code}; add one to its table"
        kind = part.placing
        for needle in needles:
            many = len(needle.needles)
            if task is SINGLE and many > 1:
                yield f'needles: {needle.id!r} is a set of {many}; sets need task = "multi"'
            if many > (kind.most_needles or many):
                yield f"needles: placement {kind.name!r} hides {kind.most_needles} per row; {needle.id!r} is a set"
            if kind.native and not isinstance(part.spread, str) and many != len(part.spread):
                yield f"spread: {len(part.spread)} depths, but {needle.id!r} has {many} needles"
        if not kind.native and (part.spread != kind.spread or part.fresh_haystacks):
            yield f'spread, fresh_haystacks: placement {kind.name!r} only has {kind.spread!r}, and false; use "native"'
        elif not isinstance(part.spread, str) and part.depths != part.spread[:1]:
            yield f"depths: spread gives every needle its depth, the first one {part.spread[0]:g}; leave depths out"


def wrong_prompts(part: Part, languages: Sequence[str], form: PromptForm) -> Iterator[str]:
    """Why a part's template cannot make prompts in one of `languages` as the part asks for."""
    for template in filter(None, map(replace(part, system="").template_in, languages)):
        if part.question_position not in template.wordings:
            yield (
                f"question_position: template {template.name!r} asks at the {', '.join(template.wordings)} only, "
                f'not at {part.question_position!r}; template "niah" has all positions'
            )
        if part.system and (problem := wrong_system(template, form)):
            yield f"system: {problem}"


def settings_of(part: Part, task: Task) -> Settings:
    """The settings that a task family gets from a part."""
    options, _ = read_options(task.options, part.options)
    return Settings(options, part.needles, part.own_seed, not part.placing.native, part.question_language)
