"""Matches a preset's corpora to the user's needles by language, and its needles to the user's corpora.

Corpora are left out if nothing is asked in their language; needles are added for corpora in languages without any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import corpus_language
from niah_gen.recipe.part import settings_of
from niah_gen.recipe.recipe import Part
from niah_gen.tasks.base import item_ids
from niah_gen.tasks.needle_library import needle_files
from niah_gen.tasks.registry import chosen_task

# How many of a language's single needles replace those that a preset has in English and Chinese.
_REPLACEMENTS = 3


def without_unasked_corpora(part: Part, asked: Sequence[str], tell: Callable[[str], None] | None) -> Part:
    """A part without the corpora in whose language it has no items; `tell` gets a sentence about them.

    So a recipe with needles in one language reads only that language's corpora. A part is not changed if the recipe
    names languages (`asked`), or if it asks nothing over any of its corpora: planning then reports what does not fit.
    """
    task = chosen_task(part.task, part.options)
    settings = settings_of(part, task)
    languages = {spec: locate(spec).declaration.language for spec in part.corpora}
    silent = [spec for spec, code in languages.items() if code and not item_ids(task, settings, code)]
    if asked or not silent or len(silent) == len(languages):
        return part
    if tell is not None:
        codes = ", ".join(dict.fromkeys(str(languages[spec]) for spec in silent))
        what = "no needle is" if task.hides_needles else f"task {task.name!r} asks nothing"
        where = f"part {part.name}: " if part.name else ""
        tell(f"{where}left out {', '.join(silent)}: {what} in {codes}")
    return replace(part, corpora=tuple(spec for spec in part.corpora if spec not in silent))


def with_needles_of_corpora(part: Part, tell: Callable[[str], None] | None) -> Part:
    """A part of single facts, with needles of the library added for each language of its corpora that has none.

    `tell` gets a sentence about them. The part then keeps only needles in the languages of its corpora.
    """
    task = chosen_task(part.task, part.options)
    if not task.hides_needles or part.options.get("distractors") or not part.placing.keeps_languages:
        return part
    known = {needle.language for needle in part.needles}
    languages = dict.fromkeys(corpus_language(locate(spec)) for spec in part.corpora)
    missing = [code for code in languages if code not in known and f"single-{code}" in needle_files()]
    if not missing or any(len(needle.needles) > 1 for needle in part.needles):
        return part
    added = [
        needle.asked(False).for_use(False, part.controls, part.question_language)
        for code in missing
        for needle in needle_files()[f"single-{code}"][:_REPLACEMENTS]
    ]
    if tell is not None:
        tell(f"added {', '.join(needle.id for needle in added)}: the preset has no needle in {', '.join(missing)}")
    kept = [needle for needle in part.needles if needle.language in languages]
    return replace(part, needles=(*kept, *added))
