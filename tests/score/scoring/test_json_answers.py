"""Answers in JSON are read; any other text is unchanged except for its escapes."""

from __future__ import annotations

import json

from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.scoring.json_answers import json_answer


@each(
    ("text", "expected"),
    [
        ('{"answer": "blue"}', "blue"), ('{"Answer": "blue", "confidence": 0.9}', "blue"),
        ('{"reasoning": "red?", "final_answer": "blue", "answer": "red"}', "blue"),
        ('{"final answer": "blue"}', "blue"), ('{"value": 417}', "417"), ('{"value": 4.350}', "4.350"),
        ('{"result": 1e400}', "1e400"), ('{"response": {"answer": "blue"}}', "blue"),
        ('{"answer": {"gate": "blue", "lamps": ["red", 7]}}', "blue, red, 7"),
        ('{"answers": ["blue", "red"]}', "blue, red"), ('{"answer_1": "blue", "answer_2": "red"}', "blue, red"),
        ('{"答案": "\\u975b\\u84dd\\u8272"}', "靛蓝色"), ('{"answer": null}', "null"), ('{"answer": true}', "true"),
        ('{"answer": "two\nlines"}', "two\nlines"), ('["blue", 7, "red"]', "blue, 7, red"),
        ('[["blue"], ["red"]]', "blue, red"), ('[{"answer": "blue"}, {"answer": "red"}]', "blue, red"),
        ('"blue \\"gate\\""', 'blue "gate"'), ('"{\\"answer\\": \\"blue\\"}"', "blue"),
        ('```json\n{"answer": "blue"}\n```', "blue"), ('```\n{"answer": "blue"}\n```', "blue"),
        ('```json\n["blue", "red"]\n```', "blue, red"),
        ('Here it is:\n```json\n{"answer": "blue"}\n```\nI hope that helps.', "blue"),
        ('Here it is: ```json {"answer": "blue"}``` as you asked.', "blue"), ('Sure! {"answer": "blue"}', "blue"),
        ('{"answer": "blue"}\n\nThe text says so.', "blue"), ('{"answer": "red"}\nNo:\n{"answer": "blue"}', "blue"),
        ('{"a": {"a": 1}}\n{"answer": "blue"}', "blue"), ('{"answer": "\\ud83d\\ude00 \\ud83d"}', "😀 \ufffd"),
    ],
)  # fmt: skip
def test_an_answer_in_json_is_read(text: str, expected: str) -> None:
    assert json_answer(text) == expected


@each(
    "text",
    [
        '{"drawer": 417}', '{"answer": ""}', '{"answers": []}', "{}", "[]", '[{"gate": "blue"}]',
        '[{"answer": "blue"}, {"gate": "red"}]', '{"answer": "blue"', "{answer: blue}", "[1] says blue", '"Blue" it is',
        'It sets {"value": 5}, but the gate is blue.', "{" * 2000, "[" * 2000, '{"answer":' * 2000, "7", "blue", "",
    ],
)  # fmt: skip
def test_a_text_that_is_not_an_answer_in_json_is_unchanged(text: str) -> None:
    assert json_answer(text) == text


def test_escapes_are_read_wherever_they_occur() -> None:
    assert json_answer("It is \\u975b\\u84dd.") == "It is 靛蓝."
    assert json_answer('{"颜色": "\\u975b\\u84dd"}') == '{"颜色": "靛蓝"}'
    assert json_answer('{"answer": "\\u975b\\u84dd') == '{"answer": "靛蓝'
    assert json_answer("\\ud83d\\ude00 \\ud83d \\u12") == "😀 \ufffd \\u12"


def test_very_deep_nesting_is_read_or_left_unchanged() -> None:
    deep = '{"answer":' * 900 + '"blue"' + "}" * 900
    assert json_answer(deep) in ("blue", deep)


@examples(100)
@given(
    answer=st.text(min_size=1).filter(lambda text: text.strip() == text and text[:1] not in '{["`'),
    other=st.text(),
    escaped=st.booleans(),
)
def test_any_text_survives_being_an_answer_in_json(answer: str, other: str, escaped: bool) -> None:
    text = json.dumps({"note": other, "answer": answer}, ensure_ascii=escaped)
    assert json_answer(text) == answer
