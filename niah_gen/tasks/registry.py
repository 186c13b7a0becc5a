"""Lists the task families by name, and finds those of the user's own; docs/contributing.md tells how to add one."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from niah_gen.errors import RecipeError, suggestion
from niah_gen.tasks.ancestral_trace import ANCESTRAL_FACTS, ANCESTRAL_TRACE
from niah_gen.tasks.association import ASSOCIATION
from niah_gen.tasks.base import Task
from niah_gen.tasks.coded_words import CODED_WORDS
from niah_gen.tasks.common_words import COMMON_WORDS
from niah_gen.tasks.coreference import COREFERENCE
from niah_gen.tasks.graph_walks import GRAPH_WALKS
from niah_gen.tasks.json_key_values import JSON_KEY_VALUES
from niah_gen.tasks.key_values import KEY_VALUES
from niah_gen.tasks.needle import MULTI, SINGLE
from niah_gen.tasks.options import read_options
from niah_gen.tasks.passage_count import PASSAGE_COUNT
from niah_gen.tasks.passages import PASSAGE_COPY, PASSAGE_MATCH, PASSAGE_NTH
from niah_gen.tasks.passkeys import NUMBER_STRING, PASSKEY
from niah_gen.tasks.perplexity import PERPLEXITY
from niah_gen.tasks.published.longbench import LONGBENCH, LONGBENCH_FILE
from niah_gen.tasks.published.mrcr import MRCR
from niah_gen.tasks.published.needlebench import NEEDLEBENCH_TASKS
from niah_gen.tasks.published.needlehaystack2 import NEEDLEHAYSTACK2_TASKS
from niah_gen.tasks.published.nolima import NOLIMA
from niah_gen.tasks.published.ruler.family import RULER
from niah_gen.tasks.uuid_chain import UUID_CHAIN
from niah_gen.tasks.variable_tracking import VARIABLE_PROSE, VARIABLE_TRACKING

TASKS: dict[str, Task] = {
    "single": SINGLE,
    "multi": MULTI,
    "association": ASSOCIATION,
    "ruler": RULER,
    **NEEDLEHAYSTACK2_TASKS,
    **NEEDLEBENCH_TASKS,
    "nolima": NOLIMA,
    "variable-tracking": VARIABLE_TRACKING,
    "variable-prose": VARIABLE_PROSE,
    "uuid-chain": UUID_CHAIN,
    "ancestral-trace": ANCESTRAL_TRACE,
    "ancestral-facts": ANCESTRAL_FACTS,
    "graph-walks": GRAPH_WALKS,
    "common-words": COMMON_WORDS,
    "coded-words": CODED_WORDS,
    "perplexity": PERPLEXITY,
    "passage-match": PASSAGE_MATCH,
    "passage-copy": PASSAGE_COPY,
    "passage-nth": PASSAGE_NTH,
    "passage-count": PASSAGE_COUNT,
    **LONGBENCH,
    "longbench-file": LONGBENCH_FILE,
    "coreference": COREFERENCE,
    "mrcr": MRCR,
    "key-values": KEY_VALUES,
    "passkey": PASSKEY,
    "number-string": NUMBER_STRING,
    "json-key-values": JSON_KEY_VALUES,
}


def is_own(name: str) -> bool:
    """Whether a name is that of a family outside the package, `module:NAME`."""
    return ":" in name


def find_task(name: str, *, here: bool = True) -> Task:
    """The task family that a recipe names: one of TASKS, or `module:NAME`, a Task in an importable module.

    here: the module may lie in the working folder; a recipe that came with a dataset finds only what is installed or
    on PYTHONPATH. Raises RecipeError where there is none.
    """
    if not is_own(name):
        if name not in TASKS:
            raise RecipeError(
                [f"expected one of {', '.join(TASKS)}, or module:NAME; found {name!r}{suggestion(name, TASKS)}"]
            )
        return TASKS[name]
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise RecipeError([f"expected module:NAME; found {name!r}"])
    added = here and os.getcwd() not in sys.path
    if added:
        # Behind everything installed, as `python -m` would put it first; workers get the same path.
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
    found = getattr(loaded, attribute, None)
    if found is None:
        raise RecipeError([f"{name!r}: module {module!r} has no {attribute!r}"])
    if not isinstance(found, Task):
        raise RecipeError([f"{name!r}: expected a niah_gen.tasks.base.Task, found {type(found).__name__}"])
    return found


def chosen_task(name: str, options: Mapping[str, Any], *, here: bool = True) -> Task:
    """The task family that a recipe names, as its [options] make it. Raises RecipeError where there is none."""
    return as_chosen(find_task(name, here=here), options)


def as_chosen(task: Task, options: Mapping[str, Any]) -> Task:
    """A family as [options] make it; as it is where they are none of its own."""
    found, _ = read_options(task.options, options)
    return task if found is None else task.with_options(found)
