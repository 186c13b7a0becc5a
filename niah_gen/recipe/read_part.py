"""Reads the fields of a recipe, or of one of its parts, that decide its rows, and collects everything that is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from niah_gen.corpora.find import locate
from niah_gen.errors import NiahError, RecipeError, suggestion
from niah_gen.haystacks.boundaries import BOUNDARIES
from niah_gen.haystacks.placements import PLACEMENTS
from niah_gen.prompts.own_templates import is_file, own_templates, read_template_file, wrong_tables
from niah_gen.prompts.templates import POSITIONS, guide_problem, named_template, template_names
from niah_gen.recipe.presets import preset_text
from niah_gen.recipe.recipe import Part
from niah_gen.recipe.schedules import depth_schedule, length_schedule
from niah_gen.recipe.values import (
    WITHOUT_LENGTH,
    WrongValueError,
    one_of,
    parse_boolean,
    parse_depths,
    parse_lengths,
    parse_names,
    parse_percent,
    parse_question_language,
    parse_spread,
    parse_system,
    parse_text,
    whole,
)
from niah_gen.tasks.base import FromFiles, Task, is_published
from niah_gen.tasks.needle import SINGLE, task_for
from niah_gen.tasks.needle_library import Needle, find_needles, parse_needle
from niah_gen.tasks.options import options_table, own_file, own_files, read_options
from niah_gen.tasks.records import Settings
from niah_gen.tasks.registry import as_chosen, find_task, is_own

Value = TypeVar("Value")

_DEFAULT_CORPORA: tuple[str, ...] = ("en_essays", "zh_articles")
_DEFAULT_NEEDLES = tuple(tomllib.loads(preset_text("plain"))["needles"])
LEAKS = ("drop", "refuse", "report")
# `paraphrase` chooses which question of a needle is asked; a resolved recipe has that question instead.
PART_FIELDS = (*(field.name for field in fields(Part) if field.name not in ("name", "weight")), "paraphrase")


class Fields:
    """Reads the fields of a raw table and collects what is wrong with them."""

    def __init__(self, raw: Mapping[str, Any], problems: list[str]) -> None:
        self.raw = raw
        self.problems = problems

    def take(self, name: str, parse: Callable[[Any], Value], default: Value) -> Value:
        """The value of a field; the default if it is left out or wrong."""
        if name not in self.raw:
            return default
        try:
            return parse(self.raw[name])
        except WrongValueError as error:
            self.problems.append(f"{name}: {error}; found {self.raw[name]!r}")
            return default


class PartReader(Fields):
    """Reads a part. `allowed`: as for `find_task`; if None, corpora and family must be on this machine.

    `notes`: sentences about its files.
    """

    def __init__(self, raw: Mapping[str, Any], problems: list[str], allowed: Collection[str] | None) -> None:
        super().__init__(raw, problems)
        self.allowed = allowed
        self.here = allowed is None
        self.notes: list[str] = []

    def part(self, name: str | None = None, weight: float = 1.0) -> Part:
        """The part. Adds everything that is wrong with it to the problems."""
        task_name, task = self._task()
        replays = task is not None and is_published(task)
        placement = self._placement(task_name, replays, task is not None or self.here)
        kind = PLACEMENTS[placement]
        template, templates = self._template(kind.template)
        needles = self._needles(task)
        if task is None and not task_name:
            task = task_for(needles)
        question_language = self._question_language(task)
        options = self._options(task)
        corpora = self._corpora(task, options)
        task = task and as_chosen(task, options)
        controls = self._controls(task)
        needles = [needle.for_use(bool(options.get("distractors")), controls, question_language) for needle in needles]
        spread = self._spread("apart" if options.get("distractors") else kind.spread)
        depths = tuple(depth_schedule(21, "linear", "nearest", True)) if isinstance(spread, str) else spread[:1]
        boundaries = BOUNDARIES if "boundary" in kind.choices else (kind.boundary,)
        leaks = LEAKS if "leaks" in kind.choices else (kind.leaks,)
        part = Part(
            task=task_name or (task.name if task else ""),
            placement=placement,
            template=template,
            guide=self.take("guide", parse_boolean, True),
            question_position=self.take("question_position", one_of(POSITIONS), "end"),
            lengths=self.take("lengths", parse_lengths, tuple(length_schedule(8000, 8))),
            depths=self.take("depths", parse_depths, depths),
            repeats=self.take("repeats", whole(1, 100_000), 1),
            reserve=self.take("reserve", whole(0, 1_000_000), 200),
            seed=self.take("seed", whole(0, 2**31 - 1), 0),
            max_new_tokens=self.take("max_new_tokens", whole(1, 1_000_000), 200),
            diff=self.take("diff", parse_percent, 25.0),
            spread=spread if kind.any_spread or "spread" in self.raw else kind.spread,
            boundary=self.take("boundary", one_of(boundaries), kind.boundary),
            leaks=self.take("leaks", one_of(leaks), kind.leaks),
            fresh_haystacks=self.take("fresh_haystacks", parse_boolean, False),
            corpora=corpora,
            needles=tuple(needles),
            options=options,
            controls=controls,
            control_depths=self._take_list("control_depths", parse_depths),
            needles_per_cell=self.take("needles_per_cell", whole(0, 100_000), 0),
            system=self.take("system", parse_system, ""),
            templates=templates,
            name=name,
            weight=weight,
            question_language=question_language,
        )
        if replays and part.system:
            self.problems.append(f"system: task {task_name!r} builds whole prompts itself; leave system out")
        self._check_together(part, task)
        return part

    def _task(self) -> tuple[str, Task | None]:
        """The family's name, empty if none is named, and the family; None if it is not on this machine."""
        name = self.take("task", parse_text, "")
        if not name:
            return "", None
        try:
            return name, find_task(name, allowed=self.allowed)
        except RecipeError as error:
            # Reading a dataset's recipe does not require the user's module.
            if self.here or not is_own(name):
                self.problems += [f"task: {problem}" for problem in error.problems]
            return name, None

    def _placement(self, task_name: str, replays: bool, checked: bool) -> str:
        """The placement; `published` is for the tasks that replay a published generator, and for no other."""
        placement = self.take("placement", one_of(PLACEMENTS), "published" if replays else "native")
        if checked and replays != (placement == "published"):
            what = "replays a published generator; leave placement out" if replays else "replays none"
            self.problems.append(f"placement: {placement!r}, but task {task_name!r} {what}")
        return placement

    def _spread(self, usual: str) -> str | tuple[float, ...]:
        """How a set's needles are spread; a recipe that gives `diff` means the spread of that name."""
        return self.take("spread", parse_spread, parse_spread("diff" if "diff" in self.raw else usual))

    def _needles(self, task: Task | None) -> list[Needle]:
        if task is not None and not task.hides_needles:
            if self.raw.get("needles"):
                self.problems.append(f"needles: task {task.name!r} has its own items; leave needles out")
            return []
        if task is None and is_own(str(self.raw.get("task", ""))) and not self.raw.get("needles"):
            return []
        listed = self.raw.get("needles", _DEFAULT_NEEDLES)
        paraphrase = self.take("paraphrase", parse_boolean, False)
        needles: list[Needle] = []
        for number, item in enumerate(listed if isinstance(listed, list | tuple) else [listed], 1):
            if isinstance(item, str):
                try:
                    needles += find_needles(item)
                except RecipeError as error:
                    self.problems += [f"needles[{number}]: {problem}" for problem in error.problems]
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
        return self.take("corpora", parse_names, _DEFAULT_CORPORA)

    def _options(self, task: Task | None) -> dict[str, Any]:
        table = self.raw.get("options", {})
        if not isinstance(table, Mapping):
            self.problems.append(f"options: expected a table; found {table!r}")
            return {}
        if task is None:
            return dict(table)
        options, problems = read_options(task.options, table)
        self.problems += problems
        if problems:
            return {}
        return options_table(self._settled(task, options, table) if self.here else options)

    def _settled(self, task: Task, options: Any, table: Mapping[str, Any]) -> Any:
        """The options as their files settle them; these must be on this machine."""
        wrong = []
        for option, spec in own_files(task.options, table).items():
            try:
                own_file(spec)
            except RecipeError as error:
                wrong += [f"options.{option}: {problem}" for problem in error.problems]
        self.problems += wrong
        if wrong or not isinstance(options, FromFiles):
            return options
        try:
            completed, told = options.completed()
        except RecipeError as error:
            self.problems += error.problems
            return options
        self.notes += told
        return completed

    def _controls(self, task: Task | None) -> tuple[str, ...]:
        controls = self._take_list("controls", parse_names)
        if task is not None:
            for name in controls:
                if name not in task.controls:
                    known = suggestion(name, task.controls) or "; it has none"
                    self.problems.append(f"controls: task {task.name!r} has no control {name!r}{known}")
        return controls

    def _template(self, usual: str) -> tuple[str, Mapping[str, Any]]:
        """The template's name, and the tables of the user's own templates."""
        if is_file(self.raw.get("template")):
            try:
                return read_template_file(self.raw["template"])
            except RecipeError as error:
                self.problems += [f"template: {problem}" for problem in error.problems]
                return usual, {}
        tables = self.raw.get("templates", {})
        wrong = list(wrong_tables(tables))
        self.problems += [f"templates: {problem}" for problem in wrong]
        own = {} if wrong else dict(tables)
        return self.take("template", one_of(template_names(own_templates(own))), usual), own

    def _question_language(self, task: Task | None) -> str:
        language = self.take("question_language", parse_question_language, "")
        if language and task is not None and not task.hides_needles:
            self.problems.append(
                f"question_language: task {task.name!r} asks in the language of its texts; leave question_language out"
            )
        if language and self.raw.get("paraphrase") is True:
            self.problems.append(
                "question_language: a question in another language has one wording; leave paraphrase out"
            )
        return language

    def _take_list(self, name: str, parse: Callable[[Any], tuple[Value, ...]]) -> tuple[Value, ...]:
        """The values of a field that may be empty, although its parser expects some."""
        return () if self.raw.get(name) in ([], ()) else self.take(name, parse, ())

    def _check_together(self, part: Part, task: Task | None) -> None:
        """Checks what involves several fields."""
        for spec in part.corpora if self.here else ():
            try:
                locate(spec)
            except NiahError as error:
                self.problems.append(f"corpora: {error}")
        if part.lengths == WITHOUT_LENGTH and task is not None and not (task.context.without_length or self.problems):
            self.problems.append(f"lengths: the rows of task {task.name!r} need lengths; expected at least 1 token")
        if task is not None and not self.problems:
            self._check_questions(part, task)
        template = named_template(part.template, own_templates(part.templates))
        if part.guide and template:
            guided = (guide_problem(template, part.placement, needle.id, needle.question) for needle in part.needles)
            self.problems += filter(None, guided)
        self._check_placement(part)
        self._check_spread(part)

    def _check_questions(self, part: Part, task: Task) -> None:
        code = part.question_language
        without = [needle.id for needle in part.needles if code and not needle.question_in(code)]
        if without:
            self.problems.append(
                f"question_language: needle {', '.join(without)} has no question in {code}; add questions = "
                f'{{{code} = "..."}} to it, or leave it out'
            )
        for needle in part.needles if task is SINGLE else ():
            if len(needle.needles) > 1:
                self.problems.append(
                    f'needles: {needle.id!r} is a set of {len(needle.needles)}; sets need task = "multi"'
                )

    def _check_placement(self, part: Part) -> None:
        most = part.placing.most_needles
        for needle in part.needles:
            if most is not None and len(needle.needles) > most:
                self.problems.append(
                    f"needles: placement {part.placement!r} hides {most} per row, but {needle.id!r} is a set of "
                    f"{len(needle.needles)}"
                )

    def _check_spread(self, part: Part) -> None:
        kind = part.placing
        if not kind.any_spread:
            for name, value, own in (
                ("spread", part.spread, kind.spread), ("fresh_haystacks", part.fresh_haystacks, False),
            ):  # fmt: skip
                if value != own:
                    self.problems.append(f'{name}: placement {part.placement!r} only has {own!r}; use "native"')
            return
        if not isinstance(part.spread, str):
            if part.depths != part.spread[:1]:
                self.problems.append(
                    f"depths: spread gives every needle its depth, so the only depth is the first one's, "
                    f"{part.spread[0]:g}; leave depths out"
                )
            for needle in part.needles:
                if len(needle.needles) != len(part.spread):
                    self.problems.append(
                        f"spread: {len(part.spread)} depths, but {needle.id!r} has {len(needle.needles)} needles"
                    )


def wrong_position(part: Part, languages: Sequence[str]) -> Iterator[str]:
    """Why a part's template cannot ask at the part's position; the first of `languages` in which it cannot."""
    for language in languages:
        template = part.template_in(language)
        if template and part.question_position not in template.wordings:
            yield (
                f"question_position: template {template.name!r} asks at the {', '.join(template.wordings)} only, "
                f'not at {part.question_position!r}; template "niah" has all positions'
            )
            return


def settings_of(part: Part, task: Task) -> Settings:
    """The settings that a task family gets from a part."""
    options, _ = read_options(task.options, part.options)
    return Settings(options, part.needles, part.own_seed, not part.placing.keeps_languages, part.question_language)
