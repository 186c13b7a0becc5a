"""The wording of external questions: lettered options, classes, and the language of texts."""

from __future__ import annotations

from each import each

from niah_gen.tasks.questions.question import (
    QuestionTruth,
    choice_truth,
    class_truth,
    language_of,
    listed_choice_truth,
    open_truth,
    options_in,
    worded_question,
)


def test_a_choice_lists_its_options_and_accepts_the_letter_and_the_text() -> None:
    assert choice_truth("Which port?", ["Ness", "Merrow"], [1], "en") == QuestionTruth(
        "Which port?\n\nA. Ness\nB. Merrow\n\nReply with the letter of the right option alone.",
        ("B", "Merrow"), "choice", (), (("A", "Ness"),),
    )  # fmt: skip


def test_several_right_options_make_one_answer_of_letters() -> None:
    truth = choice_truth("哪些港口？", ["南港", "北港", "东港"], [2, 0], "zh")
    assert (truth.answers, truth.decoys) == (("AC",), (("B", "北港"),))
    assert truth.asked.endswith("A. 南港\nB. 北港\nC. 东港\n\n正确选项可能不止一个。请只回答所有正确选项的字母。")


def test_options_listed_in_the_question_are_read_from_it() -> None:
    truth = listed_choice_truth("Which?\nA. Ness\nB. Merrow", "B", "en", several=False)
    assert (truth.answers, truth.decoys) == (("B", "Merrow"), (("A", "Ness"),))
    assert truth.asked == "Which?\nA. Ness\nB. Merrow\n\nReply with the letter of the right option alone."
    unknown = listed_choice_truth("Which?", "B", "en", several=True)
    assert (unknown.answers, unknown.decoys) == (("B",), ())
    assert "More than one option may be right." in unknown.asked


@each(
    ("question", "options"),
    [
        ("Which?\n(A) one\n(B) two\n(C) three", ["one", "two", "three"]),
        ("哪个？\nA、一\nB、二", ["一", "二"]),
        ("哪个？\nA：一\nB：二", ["一", "二"]),
        ("A. This looks like one.\nWhich?\nA. one\nB. two", ["one", "two"]),
        ("Which?\nB. two\nC. three", []),
        ("Which?\nA. one", []),
        ("What did Mr A. say?", []),
        ("", []),
    ],
)
def test_options_are_consecutive_lettered_lines_from_a_on(question: str, options: list[str]) -> None:
    assert options_in(question) == options


def test_a_classification_lists_its_classes_and_the_wrong_ones_are_decoys() -> None:
    truth = class_truth("Which kind?", ["Date"], ["Date", "City", "City"], "en")
    assert truth.asked == "Which kind?\n\nReply with one of these classes and nothing else: Date, City, City."
    assert (truth.answers, truth.keywords, truth.decoys) == (("Date",), (("Date",),), (("City",),))


def test_open_questions_accept_any_of_their_answers_as_keyword() -> None:
    assert open_truth("Where?", ["Merrow", "the port", "Merrow"], "word_f1").keywords == (("Merrow", "the port"),)


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


def test_a_blank_question_asks_for_a_summary_or_for_code() -> None:
    assert worded_question(" ", "summary", "en") == "Write a summary of the document."
    assert worded_question("", "code", "zh") == "请写出代码的下一行。"
    assert worded_question("Who?", "summary", "en") == "Who?"
