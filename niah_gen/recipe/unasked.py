"""Matches a preset's needles and corpora by language, where the user named the others.

Corpora in whose language nothing is asked are left out; needles are added for corpora in a language that it
has none of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from niah_gen.corpora.find import locate
from niah_gen.corpora.read import corpus_language
from niah_gen.recipe.read_part import settings_of
from niah_gen.recipe.recipe import Part
from niah_gen.tasks.check_item import item_ids
from niah_gen.tasks.needle_library import needle_files
from niah_gen.tasks.registry import chosen_task


def without_unasked_corpora(part: Part, asked: Sequence[str], tell: Callable[[str], None] | None) -> Part:
    """A part without the corpora of a language that none of its items is in; `tell` is told a sentence about them.

    Needles of one language are reason enough to read that language's corpora alone. Where a recipe names languages
    (`asked`), or nothing is asked over any of the corpora, the part is left as it is: planning it says what does not
    fit.
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


# So many of a language's single needles stand in for those that a preset has in English and Chinese.
_STANDING_IN = 3


def with_needles_of_corpora(part: Part, tell: Callable[[str], None] | None) -> Part:
    """A part that asks for single facts, with some of the library's in each language of its corpora that has no needle.

    `tell` is told a sentence about them. A part with needles in none of its corpora's languages is left with these
    alone.
    """
    task = chosen_task(part.task, part.options)
    if not task.hides_needles or part.options.get("distractors") or not part.placing.keeps_languages:
        return part
    known = {needle.language for needle in part.needles}
    languages = dict.fromkeys(corpus_language(locate(spec)) for spec in part.corpora)
    lacking = [code for code in languages if code not in known and f"single-{code}" in needle_files()]
    if not lacking or any(len(needle.needles) > 1 for needle in part.needles):
        return part
    added = [
        needle.asked(False).for_use(False, part.controls, part.question_language)
        for code in lacking
        for needle in needle_files()[f"single-{code}"][:_STANDING_IN]
    ]
    if tell is not None:
        tell(f"asks for {', '.join(needle.id for needle in added)}: the preset has no needle in {', '.join(lacking)}")
    kept = [needle for needle in part.needles if needle.language in languages]
    return replace(part, needles=(*kept, *added))
