"""Ids, texts, errors and prompts: what counts as one, in every format."""

from __future__ import annotations

import json

from answer_files import Read, between, problem, texts
from each import each
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.contract import Message, prompt_digest
from niah_score.formats import Answer
from niah_score.formats.fields import echoed, in_template
from niah_score.formats.record import EchoedPrompt


def test_an_answer_that_is_not_text_and_an_invalid_id_are_malformed(read: Read) -> None:
    chats = ('[{"role": "user", "content": "x"}]', '[{"type": "text"}]', '["x", {"type": "text"}]')
    for value in ("NaN", "Infinity", "-Infinity", "1e999", "1.5", "0", "true", "false", "{}", '["x"]', *chats):
        assert "the answer is not text: " in problem(read(between(f'{{"id": "a", "prediction": {value}}}'))), value
    for value in ("null", "true", "1.5", "1e3", '""', "[]", "{}", "NaN"):
        assert problem(read(between(f'{{"id": {value}, "prediction": "x"}}'))).startswith("id is "), value


def test_ids_stay_as_they_are_and_integers_become_their_digits(read: Read) -> None:
    for name in (1, "1", "001", -7, "2024-01-01"):
        assert texts(read(json.dumps({"id": name, "prediction": "2024-01-01"}))) == {str(name): "2024-01-01"}


def test_null_is_no_answer_and_text_parts_are_joined(read: Read) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]
    chat = [{"role": "assistant", "content": "no"}, {"role": "assistant", "content": parts}, {"role": "user"}]
    values = {"n": None, "p": parts, "e": [], "c": chat}
    lines = "".join(json.dumps({"id": name, "prediction": value}) + "\n" for name, value in values.items())
    assert texts(read(lines)) == {"n": None, "p": "ab", "e": "", "c": "ab"}


def test_errors_are_cut_to_one_line_of_500_characters(read: Read) -> None:
    (answer,) = read(json.dumps({"id": "a", "error": "x\n\ty " * 1000}))
    assert isinstance(answer, Answer)
    assert answer.error is not None
    assert answer.error.startswith("x y x y")
    assert len(answer.error) == 500
    assert answer.text is None


@examples(100)
@given(text=st.text(alphabet=st.characters(codec="utf-8"), min_size=1))
def test_a_text_and_a_chat_of_only_that_text_have_the_same_digests_in_any_form(text: str) -> None:
    """The canonical JSON is written by a different library from the one that computes the digests of datasets."""
    expected = (prompt_digest(text), prompt_digest([Message(role="user", content=text)]))
    parts = [{"type": "text", "text": text[:3]}, {"type": "text", "text": text[3:]}]
    spellings: list[object] = [
        text,
        [{"role": "user", "content": text}],
        [{"content": text, "role": "user", "id": "m1", "name": None}],
        [{"role": "user", "content": parts}],
    ]
    for spelling in spellings:
        prompt = echoed(spelling)
        assert prompt is not None
        assert prompt[:2] == expected


def test_longer_chats_have_one_digest_and_values_that_are_not_prompts_have_none() -> None:
    chat = [Message(role="system", content="s"), Message(role="user", content="u")]
    assert echoed(chat) == EchoedPrompt(prompt_digest(chat), None, False)
    assert echoed([Message(role="system", content="s")]) == EchoedPrompt(prompt_digest(chat[:1]), None, False)
    picture = [{"role": "user", "content": [{"type": "text", "text": 1}]}]
    for other in ("", None, 5, [], ["p"], [{"role": "user"}], [{"content": "u"}], picture, {"role": "user"}):
        assert echoed(other) is None


TEMPLATES = [
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n<think>\n",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    "<s>[INST] {} [/INST]",
    "[INST] {} [/INST]",
    "<bos><start_of_turn>user\n{}<end_of_turn>\n<start_of_turn>model\n",
    "<｜begin▁of▁sentence｜><｜User｜>{}<｜Assistant｜><think>\n",
    "[gMASK]<sop><|user|>\n{}<|assistant|>",
    "<|start|>user<|message|>{}<|end|><|start|>assistant",
    "A chat between a curious user and an assistant. USER: {} ASSISTANT:",
    "### Instruction:\n{}\n\n### Response:",
    "Human: {}\n\nAssistant:",
    "{}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",  # with its beginning cut off
]
PROMPTS = [
    "Read the document below, then answer the question.\n\n<document>\nText.\n</document>\n\nWhere?\nAnswer:",
    "[{'role': 'user', 'content': 'Where is the key?'}]",
    "Where does it say that the assistant",
    "根据文章回答问题。\n钥匙在哪里？",
    "<document>Text.</document>",
    "[1] One. [2] Two.",
]


@each("template", TEMPLATES)
def test_prompts_in_chat_templates_are_distinguished_from_plain_prompts(template: str) -> None:
    for prompt in PROMPTS:
        text = template.replace("{}", prompt)
        assert in_template(text), text
        assert not in_template(prompt)
        echo = echoed(text)
        assert echo is not None
        assert echo.in_template
