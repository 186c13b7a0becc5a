"""Leaves out corpora in whose language a recipe asks nothing, where it was not the user who named them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from niah_gen.corpora.find import locate
from niah_gen.recipe.read_part import settings_of
from niah_gen.recipe.recipe import Part
from niah_gen.tasks.check_item import item_ids
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
