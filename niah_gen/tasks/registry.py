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

# The module below niah_gen.tasks and the name of each family's record. Families are imported only when asked for:
# importing all of them would take a tenth of every command's start.
TASK_HOMES = {
    "single": "needle:SINGLE",
    "multi": "needle:MULTI",
    "association": "association:ASSOCIATION",
    "ruler": "published.ruler.family:RULER",
    "needlehaystack2-single": "published.needlehaystack2:SINGLE",
    "needlehaystack2-multi": "published.needlehaystack2:MULTI",
    "needlehaystack2-uuid": "published.needlehaystack2:UUID",
    "needlehaystack2-uuid-chain": "published.needlehaystack2:UUID_CHAIN",
    "needlebench2-single": "published.needlebench:SINGLE",
    "needlebench2-retrieval": "published.needlebench:RETRIEVAL",
    "needlebench2-reasoning": "published.needlebench:REASONING",
    "needlebench2-atc": "published.needlebench:ATC",
    "nolima": "published.nolima:NOLIMA",
    "variable-tracking": "variable_tracking:VARIABLE_TRACKING",
    "variable-prose": "variable_tracking:VARIABLE_PROSE",
    "uuid-chain": "uuid_chain:UUID_CHAIN",
    "ancestral-trace": "ancestral_trace:ANCESTRAL_TRACE",
    "ancestral-facts": "ancestral_trace:ANCESTRAL_FACTS",
    "graph-walks": "graph_walks:GRAPH_WALKS",
    "common-words": "common_words:COMMON_WORDS",
    "coded-words": "coded_words:CODED_WORDS",
    "perplexity": "perplexity:PERPLEXITY",
    "passage-match": "passages:PASSAGE_MATCH",
    "passage-copy": "passages:PASSAGE_COPY",
    "passage-nth": "passages:PASSAGE_NTH",
    "passage-count": "passage_count:PASSAGE_COUNT",
    "longbench-passage_retrieval_en": "published.longbench:PASSAGE_RETRIEVAL_EN",
    "longbench-passage_retrieval_zh": "published.longbench:PASSAGE_RETRIEVAL_ZH",
    "longbench-passage_count": "published.longbench:PASSAGE_COUNT",
    "longbench-file": "published.longbench:LONGBENCH_FILE",
    "coreference": "coreference:COREFERENCE",
    "mrcr": "published.mrcr:MRCR",
    "key-values": "key_values:KEY_VALUES",
    "passkey": "passkeys:PASSKEY",
    "number-string": "passkeys:NUMBER_STRING",
    "json-key-values": "key_values:JSON_KEY_VALUES",
    "questions": "questions.family:QUESTIONS",
}


def is_own(name: str) -> bool:
    """Whether a name is that of a family outside the package: `module:NAME`."""
    return ":" in name


def find_task(name: str, *, allowed: Collection[str] | None = None) -> Task:
    """The task family that a recipe names: one of TASK_HOMES, or `module:NAME`, a Task in an importable module.

    allowed: None for the user's own recipe, whose module may also be in the working folder. For a recipe that came with
    a dataset, the modules that the user allows, imported from where installed ones are. Raises RecipeError if there is
    no such family, or its module is not allowed.
    """
    if not is_own(name):
        if name not in TASK_HOMES:
            near = suggestion(name, TASK_HOMES)
            raise RecipeError([f"expected one of {', '.join(TASK_HOMES)}, or module:NAME; found {name!r}{near}"])
        home, _, record = TASK_HOMES[name].partition(":")
        family: Task = getattr(importlib.import_module(f"niah_gen.tasks.{home}"), record)
        return family
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise RecipeError([f"expected module:NAME; found {name!r}"])
    if allowed is not None and module not in allowed:
        raise RecipeError(
            [
                f"{name!r}: a dataset's recipe names code of its author's; read module {module!r}, and if you trust "
                f"it, add --allow-task-module {module}"
            ]
        )
    added = allowed is None and os.getcwd() not in sys.path
    if added:
        # Appended, so that installed modules win; workers get the same path.
        sys.path.append(os.getcwd())
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise RecipeError([f"{name!r}: importing {module} fails ({error})"]) from None
        raise RecipeError(
            [f"{name!r}: no module {module!r}; install it, or put the folder that holds it on PYTHONPATH"]
        ) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever the user's own module raises
        raise RecipeError([f"{name!r}: importing {module} fails ({type(error).__name__}: {error})"]) from None
    task = getattr(loaded, attribute, None)
    if task is None:
        raise RecipeError([f"{name!r}: module {module!r} has no {attribute!r}"])
    if not isinstance(task, Task):
        raise RecipeError([f"{name!r}: expected a niah_gen.tasks.base.Task, found {type(task).__name__}"])
    return task


def chosen_task(name: str, options: Mapping[str, Any], *, allowed: Collection[str] | None = None) -> Task:
    """The task family that a recipe names, with its [options]. Raises what `find_task` does."""
    return as_chosen(find_task(name, allowed=allowed), options)


def as_chosen(task: Task, options: Mapping[str, Any]) -> Task:
    """A family as set up by [options]; unchanged if these are not valid for it."""
    read, _ = read_options(task.options, options)
    return task if read is None or task.chosen is None else task.chosen(read)
