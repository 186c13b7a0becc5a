"""Chat templates: found in a model's folder, rendered as transformers renders them, and counted whole."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from each import each

from niah_gen.errors import TokenizerError
from niah_gen.tokenizers.chat_template import ChatTemplate, chat_counter, find_chat_template, renderer
from niah_gen.tokenizers.find import find_tokenizer

CHATML = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message['content'] | trim }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
HELLO = [{"role": "system", "content": " be brief "}, {"role": "user", "content": "the cat sat"}]


def config(folder: Path, **fields: Any) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps(fields), "utf-8")


def rendered(source: str) -> str:
    return renderer(ChatTemplate(Path("template"), source, {}))(HELLO)


def test_a_template_is_found_in_its_own_file_or_in_the_configuration(model: Path) -> None:
    assert find_chat_template(str(model)) is None
    (model / "chat_template.json").write_text('{"chat_template": "third"}')
    assert find_chat_template(str(model)) == ChatTemplate(model / "chat_template.json", "third", {})
    beginning = {"content": "<s>", "lstrip": False}
    config(model, bos_token=beginning, eos_token="<|im_end|>", pad_token=None, chat_template="2nd")
    special = {"bos_token": "<s>", "eos_token": "<|im_end|>"}
    assert find_chat_template(str(model)) == ChatTemplate(model / "tokenizer_config.json", "2nd", special)
    (model / "chat_template.jinja").write_text("首", "utf-8")
    expected = ChatTemplate(model / "chat_template.jinja", "首", special)
    assert find_chat_template(str(model)) == expected
    assert find_chat_template(str(model / "tokenizer.json")) == expected


def test_a_tokenizer_of_another_name_has_no_template_and_of_several_the_default_one_is_used(model: Path) -> None:
    named = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "yes"}]
    config(model, chat_template=named)
    template = find_chat_template(str(model))
    assert template is not None
    assert template.source == "yes"
    shutil.copy(model / "tokenizer.json", model / "other.json")
    assert find_chat_template(str(model / "other.json")) is find_chat_template("gpt-4o") is None
    config(model, chat_template=named[:1])
    with pytest.raises(TokenizerError, match="expected a template named default; found tool_use"):
        find_chat_template(str(model))


@each(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "expected a JSON object"),
        (b"\xff", "expected UTF-8 text"),
        (b'{"chat_template": 1}', "chat_template: expected a text"),
        (b'{"chat_template": [1]}', "chat_template: expected a text"),
        (b'{"chat_template": "\\ud800"}', "not Unicode text"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_file_without_a_valid_template_is_named(model: Path, content: bytes, message: str) -> None:
    (model / "tokenizer_config.json").write_bytes(content)
    with pytest.raises(TokenizerError, match=message) as caught:
        find_chat_template(str(model))
    assert str(model / "tokenizer_config.json") in str(caught.value)


def test_text_added_by_the_template_is_counted_and_special_tokens_count_once(model: Path) -> None:
    config(model, bos_token="<s>", chat_template=CHATML)
    template = find_chat_template(str(model))
    assert template is not None
    text = renderer(template)(HELLO)
    assert text == (
        "<s><|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nthe cat sat<|im_end|>\n<|im_start|>assistant\n"
    )
    plain = find_tokenizer(str(model))
    between = ["system\nbe brief", "\n", "user\nthe cat sat", "\n", "assistant\n"]
    assert chat_counter(str(model), template)(HELLO) == 6 + sum(map(plain.count, between))
    assert plain.count("<|im_end|>") > 1  # without a template it is plain text


@each(
    ("source", "message"),
    [
        ("{{ raise_exception('No system') }}", "refuses messages of system, user: No system"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ namespace(__class__=1) }}", "underscore"),
        ("{{ missing.field }}", "undefined"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "recursion"),
    ],
)
def test_a_template_that_refuses_or_misbehaves_is_an_error_naming_its_file(source: str, message: str) -> None:
    with pytest.raises(TokenizerError, match=message) as caught:
        rendered(source)
    assert str(caught.value).startswith("template: ")


def test_what_is_missing_for_a_template_is_named(piece_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TokenizerError, match=r"needs a tokenizer\.json.*--no-chat-template"):
        chat_counter(str(piece_model), ChatTemplate(Path("x"), "y", {}))
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(TokenizerError, match=r"pip install 'niah-kit\[gen\]'"):
        rendered("x")
