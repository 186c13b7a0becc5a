"""Finds the chat template in a model's folder, renders prompts with it, and counts their tokens as a chat server does.

A server that takes messages renders them with the model's template and encodes the result, in which the texts of
special tokens are those tokens. The template is read from where transformers reads it, and rendered with the filters,
globals and tags of transformers; neither transformers nor a model is needed.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niah_gen.errors import TokenizerError
from niah_gen.tokenizers.find import encoding_name, hugging_face_model, tokenizer_path

if TYPE_CHECKING:
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

Messages = Sequence[dict[str, Any]]

_SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
# Templates may ask for the date, but counts must not depend on the day. September is the longest name of a month.
_DAY = datetime.datetime(2025, 9, 30, 12)


@dataclass(frozen=True)
class ChatTemplate:
    """A chat template. `file`: where it was found; `special_tokens`: their texts by name, such as `bos_token`."""

    file: Path
    source: str
    special_tokens: dict[str, str]


def find_chat_template(spec: str) -> ChatTemplate | None:
    """The chat template in the folder of a tokenizer; None if there is none.

    `spec`: a tokenizer, as a recipe names one; only files that are named like the tokenizer of a model's folder have a
    template, tiktoken's encodings do not. Searches chat_template.jinja, then the field `chat_template` of
    tokenizer_config.json and of chat_template.json. Raises TokenizerError for files that cannot be read.
    """
    if encoding_name(spec) is not None:
        return None
    _, path = tokenizer_path(spec)
    if path.stem not in ("tokenizer", "spiece"):
        return None
    folder = path.parent
    config = _fields(folder / "tokenizer_config.json")
    file = folder / "chat_template.jinja"
    source: Any = _text(file) if file.is_file() else None
    for name in ("tokenizer_config.json", "chat_template.json"):
        if source is None:
            file = folder / name
            source = _default_of(_fields(file).get("chat_template"), file)
    if source is None:
        return None
    named = {**_fields(folder / "special_tokens_map.json"), **config}
    special = {}
    for name in _SPECIAL:
        value = named.get(name)
        text = value.get("content") if isinstance(value, dict) else value
        if value is not None:
            special[name] = text if isinstance(text, str) else ""
    try:
        "".join([source, *special.values()]).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON allows
        raise TokenizerError(f"{file}: the chat template or a special token is not Unicode text") from None
    return ChatTemplate(file, source, special)


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise TokenizerError(f"{file}: cannot be read ({error}); expected UTF-8 text") from None


def _fields(file: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is no file."""
    try:
        content = json.loads(_text(file)) if file.is_file() else {}
    except (ValueError, RecursionError) as error:
        raise TokenizerError(f"{file}: not JSON ({error})") from None
    if not isinstance(content, dict):
        raise TokenizerError(f"{file}: expected a JSON object")
    return content


def _default_of(given: Any, file: Path) -> str | None:
    """The template, or if there are several, the one named `default`; None if there is none."""
    if isinstance(given, list) and all(isinstance(item, dict) for item in given):
        given = {item.get("name"): item.get("template") for item in given}
    if isinstance(given, dict):
        if "default" not in given:
            names = ", ".join(sorted(map(str, given)))
            raise TokenizerError(f"{file}: chat_template: expected a template named default; found {names}")
        given = given["default"]
    if given is not None and not isinstance(given, str):
        raise TokenizerError(f"{file}: chat_template: expected a text, or several named ones")
    return given


def chat_counter(spec: str, template: ChatTemplate) -> Callable[[Messages], int]:
    """Returns a function that counts the tokens of messages as a chat server does, with the generation prompt.

    That function raises TokenizerError for messages that the template refuses, as a server would. Raises TokenizerError
    for an invalid template, and if there is no tokenizer.json.
    """
    _, path = tokenizer_path(spec)
    if path.suffix != ".json":
        raise TokenizerError(
            f"{path.parent}: counting with the chat template needs a tokenizer.json, which has the special tokens; "
            "--no-chat-template counts without the template"
        )
    model = hugging_face_model(path)
    model.encode_special_tokens = False  # the template writes special tokens as their texts
    render = renderer(template)
    return lambda messages: len(model.encode(render(messages), add_special_tokens=False).ids)


def renderer(template: ChatTemplate) -> Callable[[Messages], str]:
    """Returns a function that renders messages, with the generation prompt. Both raise as `chat_counter` does."""
    try:
        import jinja2
    except ImportError:
        raise TokenizerError(
            f"{template.file}: chat templates need Jinja: `pip install 'niah-kit[gen]'`; "
            "--no-chat-template counts without the template"
        ) from None
    try:
        compiled = _environment().from_string(template.source)
    except jinja2.TemplateSyntaxError as error:
        raise TokenizerError(f"{template.file}: not a chat template (line {error.lineno}: {error.message})") from None

    def render(messages: Messages) -> str:
        values = {"messages": list(messages), "tools": None, "documents": None, **template.special_tokens}
        try:
            return compiled.render(add_generation_prompt=True, **values)
        # A template is somebody else's program and can fail in any way.
        except Exception as error:  # noqa: BLE001
            roles = ", ".join(str(message["role"]) for message in messages[:5])
            raise TokenizerError(
                f"{template.file}: the chat template refuses messages of {roles}: {error or type(error).__name__}; "
                "so will a server that uses it"
            ) from None

    return render


def _environment() -> ImmutableSandboxedEnvironment:
    """The environment that transformers gives to templates: these names and no others, in a sandbox."""
    import jinja2
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class GenerationBlock(Extension):
        """`{% generation %}` marks answers for training; it changes no text."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    class PublicNamespace(jinja2.utils.Namespace):
        """A namespace without the names by which templates have escaped from the sandbox."""

        def __setitem__(self, name: str, value: Any) -> None:
            if name.startswith("_"):
                raise jinja2.exceptions.SecurityError(f"names in a namespace must not begin with an underscore: {name}")
            super().__setitem__(name, value)

    def namespace(*pairs: Any, **more: Any) -> PublicNamespace:
        made = PublicNamespace()
        for name, value in dict(*pairs, **more).items():
            made[name] = value
        return made

    def to_json(
        value: Any,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        # Jinja's own filter escapes HTML characters.
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def refuse(message: str) -> None:
        raise jinja2.exceptions.TemplateError(message)

    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlock, loopcontrols]
    )
    made.filters["tojson"] = to_json
    made.globals["raise_exception"] = refuse
    made.globals["strftime_now"] = _DAY.strftime
    made.globals["dict"] = lambda *pairs, **more: dict(*pairs, **more)
    made.globals["namespace"] = namespace
    return made
