"""Lists the columns of a row, as Python types and as an Arrow schema, and the names and digests of rows and files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from niah_score.contract.reading import open_regular
from niah_score.errors import KnownError

# The version of both packages, which are released together.
VERSION = "0.1.0"
SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
CARD = "README.md"
RECIPE = "recipe.toml"
SPLIT = "test"
# The folder of shortened rows for the Hub's viewer; they are in no digest and never read as rows.
PREVIEW = "preview"
# The end of a draw's needle_id.
DRAW_SUFFIX = r"#\d+-\d+$"
ROW_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

# No name in a path may hold these: some system takes them for a separator, a drive, a stream or the end of a string.
_UNSAFE = re.compile(r"[\\:\x00-\x1f\x7f]")
_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{name}{number}" for name in ("COM", "LPT") for number in "0123456789¹²³")}
_MOST_NAME, _MOST_PATH = 255, 1024

PromptForm = Literal["text", "chat"]


class ContractError(KnownError):
    """A folder or file breaks the contract; the message names the file and what to do."""

    exit_code = 4


def config_name(language: str, length: int | None) -> str:
    """`zh-8k`, `en-1500`, `en-1m`: the language and the nominal length in tokens, k = 1,000.

    Rows without a length (None, or 0) have the language alone.
    """
    return f"{language}-{length_name(length)}" if length else language


def draw_name(kind: str, length: int, repeat: int) -> str:
    """The needle_id of an item that is drawn anew for each length (tokens) and repeat: its kind, and which draw.

    Intervals treat every draw as a separate needle; tables put all draws of a kind together.
    """
    return f"{kind}#{length}-{repeat}"


def needle_kind(needle_id: str) -> str:
    """The kind that all draws of an item share; any other needle's id unchanged."""
    return re.sub(DRAW_SUFFIX, "", needle_id)


def length_name(length: int) -> str:
    """A number of tokens, abbreviated: `8k`, `1500`, `1m`; k = 1,000."""
    for unit, name in ((1_000_000, "m"), (1000, "k")):
        if length and length % unit == 0:
            return f"{length // unit}{name}"
    return str(length)


def is_safe_path(path: str) -> bool:
    """Whether a relative POSIX path names the same file inside its folder on every system.

    It has no drive, no Windows device, no control character, no name of more than 255 bytes or that ends with a dot or
    a space, and at most 1,024 bytes.
    """
    if not isinstance(path, str) or not path or _UNSAFE.search(path):
        return False
    try:
        sizes = [len(part.encode()) for part in path.split("/")]
    except UnicodeEncodeError:
        return False
    if max(sizes) > _MOST_NAME or sum(sizes) + len(sizes) > _MOST_PATH:
        return False
    return all(
        part and not part.endswith((".", " ")) and part.partition(".")[0].rstrip().upper() not in _DEVICES
        for part in path.split("/")
    )


if TYPE_CHECKING:
    import pyarrow as pa


class Message(TypedDict):
    """One chat message."""

    role: str
    content: str


class Span(TypedDict):
    """Half-open range: of Unicode code points, or of tokens where a column says so."""

    start: int
    end: int


class Truth(TypedDict):
    """All columns of a row except its prompt, in file order: what was asked, what is true, where it came from."""

    id: str
    task: str
    part: str | None
    language: str
    corpus: str
    tokenizer: str
    placement: str
    template: str
    control: str | None
    length: int | None
    depth_percent: float | None
    needle_id: str | None
    haystack_id: str | None
    repeat: int
    seed: int
    question: str | None
    question_language: str | None
    answers: list[str]
    keywords: list[list[str]]
    keyword_kinds: list[str]
    rejects: list[list[str]]
    decoys: list[list[str]]
    metric: str
    answer_prefix: str | None
    max_new_tokens: int
    needles: list[str]
    needle_spans: list[Span]
    context_message: int
    needle_token_spans: list[Span] | None
    needle_depths: list[float]
    boundary: str | None
    prompt_tokens: int
    haystack_tokens: int
    haystack_passes: float
    shared_prefix: int | None
    world: str | None
    chance: float | None
    target_span: Span | None
    target_token_span: Span | None
    leak: str | None
    prompt_sha256: str


class Row(Truth):
    """One published example. The prompt comes last."""

    prompt: str | list[Message]


# Version 1 only grows by nullable columns, which older folders lack; anything else needs a new SCHEMA_VERSION, which
# readers of this one refuse by name. ROW_REVISION is raised with a new column, and when the rule changes which keywords
# a haystack may hold. It is part of the plan digest, so that an older folder is never taken for a complete one.
ROW_REVISION = 4
COLUMNS = (*Truth.__annotations__, "prompt")
# Columns with few distinct values, worth a Parquet dictionary; never the prompt, which differs in every row.
REPEATING_COLUMNS = (
    "task", "part", "language", "corpus", "tokenizer", "placement", "template", "control", "needle_id", "haystack_id",
    "question", "question_language", "metric", "answer_prefix", "boundary", "world", "leak",
)  # fmt: skip


def row_schema(form: PromptForm) -> pa.Schema:
    """The Arrow schema of a row; `form` decides whether `prompt` is one string or a list of messages."""
    import pyarrow as pa

    text, span = pa.string(), pa.struct([("start", pa.int32()), ("end", pa.int32())])
    # large_string: 32-bit string offsets end at 2 GiB, which a row group of long prompts can reach.
    prompt = pa.large_string()
    if form == "chat":
        prompt = pa.list_(pa.struct([("role", text), ("content", pa.large_string())]))
    kinds = {
        "str": text, "int": pa.int32(), "float": pa.float64(), "Span": span, "list[Span]": pa.list_(span),
        "list[str]": pa.list_(text), "list[list[str]]": pa.list_(pa.list_(text)), "list[float]": pa.list_(pa.float64()),
    }  # fmt: skip
    wanted = {name: kinds[kind.__forward_arg__.removesuffix(" | None")] for name, kind in Truth.__annotations__.items()}
    types = {**wanted, "seed": pa.int64(), "prompt": prompt}
    return pa.schema([*types.items()], metadata={"niah_schema_version": str(SCHEMA_VERSION)})


# The field of a JSON file that holds the sha256 of all its others.
SEAL = "self_sha256"


def canonical_json(value: object) -> bytes:
    """UTF-8 JSON with sorted keys, no spaces and no escapes beyond what JSON needs: what every digest is over."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def sha256_hex(data: bytes) -> str:
    """sha256 of bytes as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def prompt_digest(prompt: str | list[Message]) -> str:
    """`prompt_sha256`: of the UTF-8 text, or of the canonical JSON of the messages."""
    return sha256_hex(prompt.encode() if isinstance(prompt, str) else _prompt_json(prompt))


def _prompt_json(prompt: str | list[Message]) -> bytes:
    """`canonical_json` of a prompt; orjson writes texts as json does, far faster."""
    import orjson

    return orjson.dumps(prompt, option=orjson.OPT_SORT_KEYS)


def row_digest(row: Row) -> str:
    """sha256 of a row: all its columns as canonical JSON."""
    # Inside a JSON string the quotes would be escaped, so this can only be the column.
    before, after = canonical_json({**row, "prompt": None}).split(b'"prompt":null', 1)
    return sha256_hex(before + b'"prompt":' + _prompt_json(row["prompt"]) + after)


def content_digest(row_digests: Iterable[str]) -> str:
    """sha256 of a dataset's content: over its rows' digests in row order, one per line.

    Because it needs digests only, shards from different machines are merged without reading their rows again.
    """
    total = hashlib.sha256()
    for digest in row_digests:
        total.update(digest.encode() + b"\n")
    return total.hexdigest()


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with the sha256 of its fields added as the last one, so that a change to them is noticed.

    The sha256 is of their canonical JSON after one round trip through JSON.
    """
    body = {name: value for name, value in record.items() if name != SEAL}
    return {**body, SEAL: sha256_hex(canonical_json(json.loads(json.dumps(body))))}


def seal_is_broken(record: Mapping[str, Any]) -> bool:
    """Whether a JSON object's seal does not match its other fields; an object without a seal is not broken.

    A single flipped bit cannot do harm that way: if it hits the seal's name, the other fields are intact.
    """
    if SEAL not in record:
        return False
    body = {name: value for name, value in record.items() if name != SEAL}
    try:
        return bool(record[SEAL] != sha256_hex(canonical_json(body)))
    except (ValueError, RecursionError):  # a lone surrogate or endless brackets, which we never write
        return True


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes as 64 hex digits. Raises OSError, also if the path is not a file but, say, a pipe."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
