"""Lists the task families by name, and finds the user's own; docs/contributing.md says how to add one."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Collection, Mapping
from typing import Any

from niah_gen.errors import RecipeError, suggestion
from niah_gen.tasks.base import Task
from niah_gen.tasks.options import read_options

# The families of each module below niah_gen.tasks. Modules are imported only when one of their families is asked for:
# importing all of them would take a tenth of every command's start.
_FAMILIES = {
    "needle": "single multi",
    "published.ruler.family": "ruler",
    "published.needlehaystack2": (
        "needlehaystack2-single needlehaystack2-multi needlehaystack2-uuid needlehaystack2-uuid-chain"
    ),
    "published.needlebench": "needlebench2-single needlebench2-retrieval needlebench2-reasoning needlebench2-atc",
    "published.nolima": "nolima",
    "chains": "variable-tracking variable-prose uuid-chain",
    "ancestral_trace": "ancestral-trace ancestral-facts",
    "graph_walks": "graph-walks",
    "frequent_words": "common-words coded-words",
    "perplexity": "perplexity",
    "passages": "passage-match passage-copy passage-nth passage-count",
    "published.longbench": (
        "longbench-passage_retrieval_en longbench-passage_retrieval_zh longbench-passage_count longbench-file"
    ),
    "coreference": "coreference",
    "published.mrcr": "mrcr",
    "key_values": "key-values json-key-values passkey number-string",
    "questions.family": "questions",
    "worlds.records": "records",
    "worlds.associations": "associations",
    "worlds.threads": "threads",
    "worlds.moves": "moves",
    "worlds.lists": "lists",
    "worlds.tally": "tally",
}
# The module of each family.
TASK_HOMES = {name: module for module, names in _FAMILIES.items() for name in names.split()}


def is_own(name: str) -> bool:
    """Whether a name is that of a family outside the package: `module:NAME`."""
    return ":" in name


def find_task(name: str, *, allowed: Collection[str] | None = None) -> Task:
    """The task family that a recipe names: one of TASK_HOMES, or `module:NAME`, a Task in an importable module.

    allowed: None for the user's own recipe, whose module may also be in the working folder. For a recipe that came with
    a dataset, the modules that the user allows, imported from where installed ones are. Raises RecipeError if there is
    no such family, or its module is not allowed.
    """
    if name in TASK_HOMES:
        home = vars(importlib.import_module(f"niah_gen.tasks.{TASK_HOMES[name]}"))
        return next(one for one in home.values() if isinstance(one, Task) and one.name == name)
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        expected = "module:NAME" if is_own(name) else f"one of {', '.join(TASK_HOMES)}, or module:NAME"
        raise RecipeError([f"expected {expected}; found {name!r}{suggestion(name, TASK_HOMES)}"])
    if allowed is not None and module not in allowed:
        trust = f"read module {module!r}, and if you trust it, add --allow-task-module {module}"
        raise RecipeError([f"{name!r}: a dataset's recipe names code of its author's; {trust}"])
    if allowed is None and os.getcwd() not in sys.path:
        # Appended, so that installed modules win; workers get the same path.
        sys.path.append(os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever the user's own module raises
        wrong = f"importing {module} fails ({type(error).__name__}: {error})"
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            wrong = f"no module {module!r}; install it, or put the folder that holds it on PYTHONPATH"
        raise RecipeError([f"{name!r}: {wrong}"]) from None
    if not isinstance(found, Task):
        what = f"found {type(found).__name__}" if found is not None else f"module {module!r} has no {attribute!r}"
        raise RecipeError([f"{name!r}: expected a niah_gen.tasks.base.Task, {what}"])
    return found


def chosen_task(name: str, options: Mapping[str, Any], *, allowed: Collection[str] | None = None) -> Task:
    """The task family that a recipe names, with its [options]. Raises what `find_task` does."""
    return as_chosen(find_task(name, allowed=allowed), options)


def as_chosen(task: Task, options: Mapping[str, Any]) -> Task:
    """A family as set up by [options]; unchanged if these are not valid for it."""
    read, _ = read_options(task.options, options)
    return task if read is None or task.chosen is None else task.chosen(read)
