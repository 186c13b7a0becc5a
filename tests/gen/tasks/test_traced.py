"""Families whose answers follow from several texts: chains, graphs and kinship lead to the answer, and nothing else."""

from __future__ import annotations

import hashlib
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from proved import proved_rows
from truths import check_truth

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.tasks.ancestral_trace import ANCESTRAL_TRACE, KINDS, KinshipOptions
from niah_gen.tasks.base import Task, item_of, shown_of
from niah_gen.tasks.chains import UUID_CHAIN, VARIABLE_PROSE, VARIABLE_TRACKING, ChainOptions, VariableOptions
from niah_gen.tasks.graph_walks import GRAPH_WALKS, GraphOptions
from niah_gen.tasks.records import Cell, Settings
from niah_score import Judge
from niah_score.contract import needle_kind
from niah_score.metrics import METRICS, target_of

Counts = st.integers(1, 40)
# A family, its options and an item of it.
ASKED: Any = st.one_of(
    st.builds(
        lambda size, chains, order: (UUID_CHAIN, ChainOptions((size,), chains, order), f"links-{size}"),
        Counts, st.integers(1, 5), st.sampled_from(["forward", "backward", "shuffled"]),
    ),
    st.builds(
        lambda task, size, chains: (task, VariableOptions((size,), chains), f"hops-{size}"),
        st.sampled_from([VARIABLE_TRACKING, VARIABLE_PROSE]), Counts, st.integers(2, 8),
    ),
    st.builds(
        lambda kind, size, *more: (GRAPH_WALKS, GraphOptions((size,), (size,), *more), f"{kind}-{size}"),
        st.sampled_from(["parents", "depth"]), st.integers(1, 4), st.integers(1, 2),
        st.sampled_from([None, "published"]),
    ),
    st.builds(
        lambda kind, size, *more: (ANCESTRAL_TRACE, KinshipOptions((kind,), (size,), *more), f"{kind}-{size}"),
        st.sampled_from(KINDS), st.integers(2, 40), st.integers(0, 2), st.integers(0, 3),
    ),
)  # fmt: skip


@examples(150)
@given(
    asked=ASKED, seed=st.integers(0, 2**32), language=st.sampled_from(["en", "zh"]),
    control=st.sampled_from([None, "absent"]),
)  # fmt: skip
def test_any_item_and_its_twin_have_the_answer_that_their_texts_imply(
    asked: tuple[Task, Any, str], seed: int, language: str, control: str | None
) -> None:
    task, options, needle = asked
    language = "en" if getattr(options, "form", None) else language
    cell = Cell(language, "c", 4000, needle, 0, 0.0, control)
    shown = shown_of(task, cell, item_of(task, Settings(options, seed=seed), cell))
    texts = random.Random(seed).sample(shown.hide, len(shown.hide))
    row: Any = {
        "task": task.name, "needle_id": needle, "language": language, "control": control, "question": shown.question,
        "prompt": "\n".join(["Filler.", *texts, "End."]), "answers": list(shown.answers), "keywords": shown.keywords,
        "decoys": shown.decoys, "metric": shown.metric,
    }  # fmt: skip
    check_truth(row)


def test_graphs_in_the_published_form_have_its_names_prompt_answers_and_metric() -> None:
    asked = {"lengths": [2000, 8000], "depths": [0, 100], "needles_per_cell": 5, "template": "graph-published"}
    rows = proved_rows("graph-walks", **asked, options={"parents": [1, 3], "depths": [2], "form": "published"})
    assert {row["language"] for row in rows} == {"en"}
    for row in rows:
        text = row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][-1]["content"]
        assert row["metric"] == "graphwalks"
        assert METRICS["graphwalks"].judge(row["answers"][0], target_of(row)).value == 100
        if row["control"] == "no_context":
            assert text == row["question"]
            continue
        before, graph = text.split("\nHere is the graph to operate on:\nThe graph has the following edges:\n")
        edges, operation = graph.split("\n\n\nOperation:\n")
        assert (before.count("Final Answer: []"), before.endswith("\n<end example>")) == (2, True)
        assert "exactly at that depth (not nodes at intermediate depths)" in before
        assert operation == row["question"]
        assert re.match(r"(Perform a BFS from|Find the parents of) node \w{10}( with depth 2)?\.\n\nYou ", operation)
        assert operation.endswith("returns the empty set, your response should be:\nFinal Answer: []")
        names = set(re.findall(r"[0-9a-f]{10}", edges))
        # No more numbers are named than the graph could have nodes.
        assert names <= {hashlib.md5(str(number).encode()).hexdigest()[:10] for number in range(len(names) + 40)}
        assert (row["answers"] == ["Final Answer: []"]) == (row["control"] == "absent")


def test_the_published_form_of_graphs_needs_its_template() -> None:
    with pytest.raises(RecipeError, match="these options of task 'graph-walks' need 'graph-published'"):
        load_recipe("graph-walks", {"options.form": "published"})
    with pytest.raises(RecipeError, match="form is 'openai'; expected published, or no form"):
        load_recipe("graph-walks", {"options.form": "openai"})


def test_links_appear_in_the_requested_order() -> None:
    for order, step in (("forward", 1), ("backward", -1)):
        options = {"links": [4], "chains": 1, "order": order}
        asked = {"lengths": [2000], "depths": [0, 40], "options": options, "controls": [], "spread": "even"}
        for row in proved_rows("uuid-chain", **asked):
            starts = [span["start"] for span in row["needle_spans"]]
            assert starts == sorted(starts)
            joint = " maps to " if row["language"] == "en" else "对应"
            links = [text.rstrip(".。").split(joint) for text in row["needles"]][::step]
            assert all(one[1] == other[0] for one, other in pairwise(links))
            assert links[0][0] in (row["question"] or "")


def test_a_distance_between_relatives_is_accepted_in_digits_and_in_words(tmp_path: Path) -> None:
    options = {"kinds": ["distance"], "facts": [2, 16]}
    changes = {"lengths": [2000], "depths": [0, 50], "options": options, "controls": []}
    recipe = load_recipe("ancestral-facts", changes)
    judge = Judge(niah_gen.build(recipe, tmp_path))
    for row in niah_gen.iter_rows(recipe):
        total, words = row["answers"][:2]
        facts = int(needle_kind(str(row["needle_id"])).removeprefix("distance-"))
        assert facts <= int(total) <= 2 * facts
        replies = [f"\\boxed{{{total}}}", f"So it is \\boxed{{{words}}}.", f"First 1, then 2.\n\\boxed{{{total}}}"]
        assert [judge(row["id"], text).score for text in replies] == [100, 100, 100]
        assert judge(row["id"], f"\\boxed{{{int(total) + 1}}}").score == 0
