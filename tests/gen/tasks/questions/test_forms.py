"""Forms of question sets: how each is recognised by its columns, how its rows are read, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from each import each

from niah_gen.tasks.questions.forms import (
    FORMS,
    RowFields,
    WrongFieldsError,
)
from niah_gen.tasks.records import Item

DOCUMENT = "The port of Merrow was dredged in 1911. Ida Holt lit the lamp. The harbour froze."


def read(form: str, fields: dict[str, Any], *labels: str) -> list[Item]:
    row = RowFields(fields, labels)
    questions = list(FORMS[form].read(row))
    row.check()
    return [item for _, item in questions]


def problems_of(form: str, fields: dict[str, Any], *labels: str) -> tuple[str, ...]:
    with pytest.raises(WrongFieldsError) as caught:
        read(form, fields, *labels)
    return caught.value.problems


PLAIN = {"document": DOCUMENT, "question": "Which?", "answers": ["Ida"]}
CHOICE = {**PLAIN, "choices": ["Ness", "Merrow", "Holt"]}
LONGBENCH = {"input": "Which kind?", "context": DOCUMENT, "answers": ["Date"], "all_classes": None, "language": "en"}
CLASSES = {**LONGBENCH, "all_classes": ["Date", "City", "City"]}
BABILONG = {"input": DOCUMENT, "question": "Where was Mary before the Garden?", "target": "kitchen"}
L_EVAL = {
    "input": DOCUMENT, "instructions": ["Which?\nA. x\nB. y\nC. z", "Who lit the lamp?", "True?"],
    "outputs": ["AC", "Ida Holt", "A"],
}  # fmt: skip
LV_EVAL = {**LONGBENCH, "answers": ["It was Ida Holt"], "answer_keywords": "Ida Holt"}
INFINITE = {"id": 1, "context": DOCUMENT, "input": "Who?", "answer": "12345", "options": []}
WALK = {"prompt": "Edges:\na -> b\n\n\nOperation:\nGo.\n", "answer_nodes": ["a", "b"], "problem_type": "bfs"}
LISTED = "Which?\n\nA. Ness\nB. Merrow\nC. Holt\n\n"
ONE, SEVERAL = "Reply with the letter of the right option alone.", "正确选项可能不止一个。请只回答所有正确选项的字母。"
NO_TEXT = "expected a text or a list of texts, none of them blank; found"


@each(
    ("form", "row", "changes", "expected"),
    [
        ("plain", CHOICE, {"answers": "B"}, {"question": LISTED + ONE, "answers": ("B", "Merrow")}),
        (
            "plain", CHOICE, {"answers": ["Holt", "A"], "language": "zh"},
            {"question": LISTED + SEVERAL, "answers": ("AC",), "decoys": (("B", "Merrow"),)},
        ),
        ("longbench", CLASSES, {}, {"metric": "longbench_classification", "decoys": (("City",),)}),
        (
            "longbench", CLASSES, {},
            {"question": "Which kind?\n\nReply with one of these classes and nothing else: Date, City, City."},
        ),
        ("longbench", LONGBENCH, {"dataset": "narrativeqa"}, {"metric": "longbench_qa_f1", "max_new_tokens": 128}),
        ("longbench", LONGBENCH, {"dataset": "dureader"}, {"metric": "longbench_rouge_zh", "max_new_tokens": 128}),
        ("longbench", LONGBENCH, {"dataset": "my_own"}, {"metric": "longbench_qa_f1", "max_new_tokens": None}),
        ("longbench", LONGBENCH, {"input": "", "dataset": "qmsum"}, {"question": "Write a summary of the document."}),
        ("babilong", BABILONG, {}, {"answers": ("kitchen",), "decoys": (("office",),)}),
        ("lv-eval", LV_EVAL, {}, {"keywords": (("Ida",), ("Holt",)), "metric": "longbench_qa_f1"}),
        (
            "lv-eval", LV_EVAL, {"answer_keywords": None, "language": "zh"},
            {"keywords": (("It was Ida Holt",),), "metric": "longbench_qa_f1_zh"},
        ),
        ("infinite-bench", INFINITE, {"answer": ["Ida", "Ida Holt"]}, {"answers": ("Ida", "Ida Holt")}),
        ("infinite-bench", INFINITE, {"answer": "B", "options": ["x", "y"]}, {"answers": ("B", "y")}),
        ("graphwalks", WALK, {}, {"id": "bfs", "question": "Operation:\nGo.\n", "answers": ("Final Answer: [a, b]",)}),
        ("graphwalks", WALK, {"answer_nodes": []}, {"answers": ("Final Answer: []",), "keywords": ()}),
    ],
)  # fmt: skip
def test_a_row_is_read_as_its_form_says(
    form: str, row: dict[str, Any], changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    (item,) = read(form, {**row, **changes}, "kitchen", "garden", "office", "Kitchen")
    assert {name: getattr(item, name) for name in expected} == expected


def test_l_eval_has_a_question_for_each_instruction() -> None:
    several, open_, one = read("l-eval", L_EVAL)
    assert (several.metric, several.answers, several.decoys) == ("choice", ("AC",), (("B", "y"),))
    assert (open_.metric, open_.answers, open_.question) == ("exact", ("Ida Holt",), "Who lit the lamp?")
    assert (one.metric, one.answers) == ("choice", ("A",))
    assert "More than one option may be right." in str(one.question)


@each(
    ("form", "row", "changes", "problem"),
    [
        ("plain", PLAIN, {"document": ""}, "document: expected a text that is not blank; found ''"),
        ("plain", PLAIN, {"question": "\ud800"}, "question: expected a text without half surrogate pairs; found"),
        ("plain", PLAIN, {"answers": []}, f"answers: {NO_TEXT} []"),
        ("plain", PLAIN, {"language": "tlh"}, "language: expected one of en, zh; found 'tlh'"),
        ("plain", PLAIN, {"metric": "exakt"}, "metric: metric 'exakt' is unknown; did you mean 'exact'?"),
        ("plain", PLAIN, {"evidence": "Jon"}, "in the document once; 'Jon' is nowhere in the document"),
        ("plain", PLAIN, {"evidence": ["Ida Holt lit", "lit the"]}, "evidence: two passages overlap; give them as one"),
        ("plain", PLAIN, {"choices": ["x"]}, "choices: expected 2 to 26 different options; found ['x']"),
        ("plain", CHOICE, {}, "answers: expected letters from A to C, or an option verbatim; found 'Ida'"),
        ("longbench", LONGBENCH, {"dataset": "passage_count"}, "--set options.dataset=passage_count"),
        ("babilong", BABILONG, {"target": "garden"}, "the question names 'garden'"),
        ("graphwalks", WALK, {"prompt": "Go."}, "prompt: expected a text with a line Operation:; found 'Go.'"),
        ("graphwalks", WALK, {"answer_nodes": None}, f"answer_nodes: {NO_TEXT} None"),
        ("graphwalks", WALK, {"answer_nodes": "['a', 'b']"}, "answer_nodes: expected names of nodes without commas"),
        ("graphwalks", WALK, {"problem_type": "bfs#1"}, "problem_type: expected a word such as bfs or parents; found"),
        ("l-eval", L_EVAL, {"outputs": ["A"]}, "outputs: expected as many as instructions, 3; found 1"),
    ],
)
def test_a_wrong_field_is_named(form: str, row: dict[str, Any], changes: dict[str, Any], problem: str) -> None:
    assert any(problem in one for one in problems_of(form, {**row, **changes}))


def test_all_wrong_fields_of_a_row_are_named_together() -> None:
    assert problems_of("longbench-v2", {"context": DOCUMENT, "choice_A": "x", "choice_B": "y", "answer": "E"}) == (
        "question: expected a text that is not blank; there is none",
        "choice_C: expected a text that is not blank; there is none",
        "choice_D: expected a text that is not blank; there is none",
    )
