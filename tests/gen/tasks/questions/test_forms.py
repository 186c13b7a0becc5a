"""Forms of question sets: how each is recognised by its columns, how its rows are read, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from each import each

from niah_gen.tasks.questions.forms import (
    FORMS,
    RowFields,
    WrongFieldsError,
    language_of,
    options_in,
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


@each(
    ("language", "answers", "question", "accepted", "decoys"),
    [
        (
            "en", "B", "Which?\n\nA. Ness\nB. Merrow\nC. Holt\n\nReply with the letter of the right option alone.",
            ("B", "Merrow"), (("A", "Ness"), ("C", "Holt")),
        ),
        (
            "zh", ["Holt", "A"],
            "Which?\n\nA. Ness\nB. Merrow\nC. Holt\n\n正确选项可能不止一个。请只回答所有正确选项的字母。",
            ("AC",), (("B", "Merrow"),),
        ),
    ],
)  # fmt: skip
def test_a_choice_lists_its_options_and_accepts_the_letter_and_the_text(
    language: str, answers: object, question: str, accepted: tuple[str, ...], decoys: object
) -> None:
    row = {
        "document": DOCUMENT, "question": "Which?", "answers": answers, "choices": ["Ness", "Merrow", "Holt"],
        "language": language,
    }  # fmt: skip
    (item,) = read("plain", row)
    assert (item.question, item.answers, item.decoys, item.metric) == (question, accepted, decoys, "choice")


@each(
    ("question", "options"),
    [
        ("Which?\n(A) one\n(B) two\n(C) three", ["one", "two", "three"]),
        ("哪个？\nA、一\nB：二", ["一", "二"]),
        ("A. This looks like one.\nWhich?\nA. one\nB. two", ["one", "two"]),
        ("Which?\nB. two\nC. three", []),
        ("Which?\nA. one", []),
        ("What did Mr A. say?", []),
    ],
)
def test_options_are_consecutive_lettered_lines_from_a_on(question: str, options: list[str]) -> None:
    assert options_in(question) == options


def test_a_classification_lists_its_classes_and_the_wrong_ones_are_decoys() -> None:
    row = {"input": "Which kind?", "context": DOCUMENT, "answers": ["Date"], "all_classes": ["Date", "City", "City"]}
    (item,) = read("longbench", row)
    assert item.question == "Which kind?\n\nReply with one of these classes and nothing else: Date, City, City."
    assert (item.answers, item.keywords, item.decoys) == (("Date",), (("Date",),), (("City",),))


@each(
    ("document", "question", "language"),
    [
        ("The boat left.", "Why?", "en"),
        ("船走了。", "为什么？", "zh"),
        ("The boat left. " * 9, "船？", "en"),
        ("船于1911年离开Merrow港，灯塔的灯亮了。", "谁？", "zh"),
        ("123", "?", "en"),
    ],
)  # fmt: skip
def test_the_language_is_recognised_by_the_letters(document: str, question: str, language: str) -> None:
    assert language_of(document, question) == language


@each(
    ("dataset", "metric", "tokens"),
    [
        ("narrativeqa", "longbench_qa_f1", 128), ("multifieldqa_zh", "longbench_qa_f1_zh", 64),
        ("dureader", "longbench_rouge_zh", 128), ("gov_report", "longbench_rouge", 512),
        ("triviaqa", "longbench_qa_f1_line", 32), ("samsum", "longbench_rouge_line", 128),
        ("trec", "longbench_classification", 64), ("lcc", "longbench_code_sim", 64),
        ("hotpotqa_e", "longbench_qa_f1", 32), ("my_own", "longbench_qa_f1", None),
    ],
)  # fmt: skip
def test_longbench_rows_get_the_metric_and_output_tokens_of_its_table(
    dataset: str, metric: str, tokens: int | None
) -> None:
    row = {
        "input": "Who lit the lamp?", "context": DOCUMENT, "answers": ["Ida Holt"], "dataset": dataset,
        "all_classes": ["Ida Holt", "Jon Reed"] if dataset == "trec" else None, "language": "en",
    }  # fmt: skip
    (question,) = read("longbench", row)
    assert (question.metric, question.max_new_tokens) == (metric, tokens)
    assert question.answers == ("Ida Holt",)


def test_a_blank_input_becomes_a_request_for_a_summary_or_code() -> None:
    row = {"input": "", "context": DOCUMENT, "answers": ["x"], "all_classes": None}
    assert read("longbench", {**row, "dataset": "gov_report"})[0].question == "Write a summary of the document."
    assert read("longbench", {**row, "dataset": "lcc"})[0].question == "Write the next line of the code."
    assert problems_of("longbench", {**row, "dataset": "qasper"}) == (
        "input: expected a text that is not blank; found ''",
    )


def test_babilong_decoys_are_the_files_labels_that_the_question_does_not_name() -> None:
    row = {"input": DOCUMENT, "question": "Where was Mary before the Garden?", "target": "kitchen"}
    (question,) = read("babilong", row, "kitchen", "garden", "office", "Kitchen")
    assert (question.answers, question.decoys) == (("kitchen",), (("office",),))
    assert "the question names 'garden'" in problems_of("babilong", {**row, "target": "garden"})[0]
    (listed,) = read("babilong", {**row, "target": "apple,milk"}, "apple,milk", "nothing", "apple")
    assert listed.decoys == (("nothing",),)


def test_l_eval_has_a_question_for_each_instruction() -> None:
    row = {
        "input": DOCUMENT, "instructions": ["Which?\nA. x\nB. y\nC. z", "Who lit the lamp?", "True?"],
        "outputs": ["AC", "Ida Holt", "A"],
    }  # fmt: skip
    several, open_, one = read("l-eval", row)
    assert (several.metric, several.answers, several.decoys) == ("choice", ("AC",), (("B", "y"),))
    assert (open_.metric, open_.answers, open_.question) == ("exact", ("Ida Holt",), "Who lit the lamp?")
    assert (one.metric, one.answers) == ("choice", ("A",))
    assert "More than one option may be right." in str(one.question)
    assert problems_of("l-eval", {**row, "outputs": ["A"]}) == (
        "outputs: expected as many as instructions, 3; found 1",
    )


def test_lv_eval_keywords_are_the_words_of_answer_keywords_or_else_the_answer() -> None:
    row = {
        "input": "Who?", "context": DOCUMENT, "answers": ["It was Ida Holt"], "confusing_facts": ["x"],
        "answer_keywords": "Ida Holt", "dataset": "factrecall_en_16k", "language": "en",
    }  # fmt: skip
    (question,) = read("lv-eval", row)
    assert (question.keywords, question.metric) == ((("Ida",), ("Holt",)), "longbench_qa_f1")
    (chinese,) = read("lv-eval", {**row, "answer_keywords": None, "language": "zh"})
    assert (chinese.keywords, chinese.metric) == ((("It was Ida Holt",),), "longbench_qa_f1_zh")


@each(
    ("answer", "options", "metric", "answers"),
    [
        ("12345", [], "longbench_qa_f1", ("12345",)),
        (12345, None, "longbench_qa_f1", ("12345",)),
        (["Ida", "Ida Holt"], [], "longbench_qa_f1", ("Ida", "Ida Holt")),
        (["Ida Holt"], ["Jon", "Ida Holt"], "choice", ("B", "Ida Holt")),
        (["Ida Holt", "B"], ["Jon", "Ida Holt"], "choice", ("B", "Ida Holt")),
        ("B", ["Jon", "Ida Holt"], "choice", ("B", "Ida Holt")),
    ],
)
def test_infinite_bench_answers_may_be_texts_lists_numbers_or_options(
    answer: object, options: object, metric: str, answers: tuple[str, ...]
) -> None:
    row = {"id": 1, "context": DOCUMENT, "input": "Who?", "answer": answer, "options": options}
    (question,) = read("infinite-bench", row)
    assert (question.metric, question.answers) == (metric, answers)


@each(
    ("changes", "problem"),
    [
        ({"document": ""}, "document: expected a text that is not blank; found ''"),
        ({"document": None}, "document: expected a text that is not blank; found None"),
        ({"question": 3}, "question: expected a text that is not blank; found 3"),
        ({"question": "\ud800"}, "question: expected a text without half surrogate pairs; found '\\ud800'"),
        ({"answers": []}, "answers: expected a text or a list of texts, none of them blank; found []"),
        ({"answers": [" "]}, "answers: expected a text or a list of texts, none of them blank; found [' ']"),
        ({"answers": [1]}, "answers: expected a text or a list of texts, none of them blank; found [1]"),
        ({"language": "tlh"}, "language: expected one of en, zh; found 'tlh'"),
        ({"metric": "exakt"}, "metric: metric 'exakt' is unknown; did you mean 'exact'?"),
        (
            {"evidence": "Jon"},
            "evidence: expected a passage that is in the document once; 'Jon' is nowhere in the document",
        ),
        (
            {"evidence": "The"},
            "evidence: expected a passage that is in the document once; 'The' is in the document more than once",
        ),
        ({"evidence": ["Ida Holt lit", "lit the"]}, "evidence: two passages overlap; give them as one"),
        ({"choices": ["x"]}, "choices: expected 2 to 26 different options; found ['x']"),
        ({"choices": ["x", "x"]}, "choices: expected 2 to 26 different options; found ['x', 'x']"),
        ({"choices": ["x", "y"]}, "answers: expected letters from A to B, or an option verbatim; found 'Ida'"),
    ],
)
def test_a_wrong_field_of_the_plain_form_is_named(changes: dict[str, object], problem: str) -> None:
    row = {"document": DOCUMENT, "question": "Who?", "answers": ["Ida"], **changes}
    assert problem in problems_of("plain", row)


def test_all_wrong_fields_of_a_row_are_named_together() -> None:
    assert problems_of("longbench-v2", {"context": DOCUMENT, "choice_A": "x", "choice_B": "y", "answer": "E"}) == (
        "question: expected a text that is not blank; there is none",
        "choice_C: expected a text that is not blank; there is none",
        "choice_D: expected a text that is not blank; there is none",
    )
    whole = {"context": DOCUMENT, "question": "Who?", "answer": "E", **{f"choice_{n}": n for n in "ABCD"}}
    assert problems_of("longbench-v2", whole) == ("answer: expected A, B, C or D; found 'E'",)
