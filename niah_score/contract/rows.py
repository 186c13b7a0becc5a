"""Lists the columns of a row, as Python types and as an Arrow schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from niah_score.contract.names import SCHEMA_VERSION, PromptForm

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
    target_span: Span | None
    target_token_span: Span | None
    leak: str | None
    prompt_sha256: str


class Row(Truth):
    """One published example. The prompt comes last."""

    prompt: str | list[Message]


# The columns of version 1 are frozen: any other column, order or type needs a new SCHEMA_VERSION, which readers of this
# one refuse by name. ROW_REVISION is raised when the rule changes which keywords a haystack may hold. It is part of the
# plan digest, so that an older folder is never taken for a complete one.
ROW_REVISION = 3
COLUMNS = (*Truth.__annotations__, "prompt")
# Columns with few distinct values, worth a Parquet dictionary; never the prompt, which differs in every row.
REPEATING_COLUMNS = (
    "task", "part", "language", "corpus", "tokenizer", "placement", "template", "control", "needle_id", "haystack_id",
    "question", "question_language", "metric", "answer_prefix", "boundary", "leak",
)  # fmt: skip


def row_schema(form: PromptForm) -> pa.Schema:
    """The Arrow schema of a row; `form` decides whether `prompt` is one string or a list of messages."""
    import pyarrow as pa

    text, whole, large = pa.string(), pa.int32(), pa.int64()
    span = pa.struct([("start", whole), ("end", whole)])
    # large_string: 32-bit string offsets end at 2 GiB, which a row group of long prompts can reach.
    prompt = pa.large_string()
    if form == "chat":
        prompt = pa.list_(pa.struct([("role", text), ("content", pa.large_string())]))
    types = {
        "id": text, "task": text, "part": text, "language": text, "corpus": text, "tokenizer": text, "placement": text,
        "template": text, "control": text, "length": whole, "depth_percent": pa.float64(), "needle_id": text,
        "haystack_id": text, "repeat": whole, "seed": large, "question": text, "question_language": text,
        "answers": pa.list_(text), "keywords": pa.list_(pa.list_(text)), "keyword_kinds": pa.list_(text),
        "rejects": pa.list_(pa.list_(text)),
        "decoys": pa.list_(pa.list_(text)), "metric": text, "answer_prefix": text, "max_new_tokens": whole,
        "needles": pa.list_(text), "needle_spans": pa.list_(span), "context_message": whole,
        "needle_token_spans": pa.list_(span),
        "needle_depths": pa.list_(pa.float64()), "boundary": text, "prompt_tokens": whole,
        "haystack_tokens": whole, "haystack_passes": pa.float64(), "target_span": span,
        "target_token_span": span, "leak": text, "prompt_sha256": text, "prompt": prompt,
    }  # fmt: skip
    return pa.schema([(name, types[name]) for name in COLUMNS], metadata={"niah_schema_version": str(SCHEMA_VERSION)})
