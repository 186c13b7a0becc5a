"""Writes prompts apart from their questions for studies of KV caches, and the lines that load tests and RULER read.

`parted` says where a prompt's question begins. KVPress's and SCBench's own programs read a context once and ask all of
its questions, as sessions do; `context + question` is the prompt, byte for byte. Agents find the context in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from niah_gen.errors import NiahError
from niah_gen.export.base import Chosen, ExportFormat, ExportOptions, Row
from niah_gen.recipe.read import load_recipe
from niah_score.contract import RECIPE, Message, continuation_of, needle_kind, sha256_hex
from niah_score.text.visible import plain_name

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = (
    "question", "answers", "keywords", "answer_prefix", "task", "part", "needle_id", "needle_spans", "prompt_tokens",
)  # fmt: skip
_LIMITS = ("max_tokens", "more_tokens")
_FILLED = {
    "messages": "it is the prompt", "model": "bench_serving names it",
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "use --max-tokens"),
}  # fmt: skip
# Bytes of prompts in a row group.
_GROUP_BYTES = 64_000_000
# Where contexts are, below the folder of an export, by names that no file of the user's has; and how a prompt names one
# of them, by language.
CONTEXT_FILES = f"contexts/{12 * '[0-9a-f]'}.txt"
_NAMED = {"zh": "材料在文件 {file} 中。"}


def parted(row: Row) -> tuple[str, str]:
    """The prompt up to the line of its question, and the rest; together they are the text, or that of the only message.

    Rows over one context have the same first part. Raises NiahError for a conversation, and for a prompt whose question
    does not stand after the needles.
    """
    text = one_message(row)
    told = max((span["end"] for span in row["needle_spans"] or ()), default=0)
    found = text.rfind(row["question"]) if row["question"] else -1
    if found < told:
        problem = "asks no question" if found < 0 else "asks its question before what it hides"
        raise NiahError(f"row {row['id']}: {problem}, so it cannot be parted; leave such rows out with --subset")
    at = max(told, text.rfind("\n", 0, found) + 1)
    return text[:at], text[at:]


def asked_rows(chosen: Chosen, columns: Sequence[str], folder: Path, options: ExportOptions) -> Iterator[Row]:
    """The rows as a format asks them, with `columns`.

    With `context_file`, a prompt is its question after the name of a file below `folder` that holds the rest of it;
    each context is written once. Raises what `parted` does.
    """
    if not options.context_file:
        yield from chosen.rows(columns, folder)
        return
    for row in chosen.rows((*columns, *_COLUMNS, "language", "question_language"), folder):
        context, question = parted(row)
        path = folder / f"contexts/{sha256_hex(context.encode())[:12]}.txt"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(context.encode())
        named = _NAMED.get(row["question_language"] or row["language"], "The text is in the file {file}.")
        text = f"{named.format(file=path.relative_to(folder).as_posix())}\n\n{question}"
        is_text = isinstance(row["prompt"], str)
        prompt = text if is_text else [Message(role="user", content=text)]
        yield {**row, "prompt": prompt, "context_file": path.relative_to(folder).as_posix()}


def one_message(row: Row) -> str:
    """The prompt as a text. Raises NiahError for a chat of more than one user message."""
    prompt = row["prompt"]
    if isinstance(prompt, str):
        return prompt
    if [message["role"] for message in prompt] != ["user"]:
        roles = ", ".join(message["role"] for message in prompt[:4])
        raise NiahError(
            f"row {row['id']}: a chat ({roles}, ...); expected one user message: leave it out with --subset"
        )
    return str(prompt[0]["content"])


def _prefix(row: Row) -> str:
    return continuation_of(row["prompt"], "", row["answer_prefix"])[0]


def _task(row: Row) -> str:
    """The task of a row for RULER's scorers, in KVPress too; its own tasks have the names that it gives them."""
    return str(row["part"] or (needle_kind(row["needle_id"]) if row["task"] == "ruler" else row["task"]))


def _outputs(row: Row) -> list[str]:
    """The texts that these scorers look for, each of which is a part of the answer: our answers join them."""
    return [group[0] for group in row["keywords"] or ()] or list(row["answers"])


def _kvpress(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    """A Parquet file for each language and length, which is the `data_dir` of KVPress's evaluate.py."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = pa.list_(pa.string())
    schema = pa.schema(
        {"id": pa.string(), "task": pa.string(), "context": pa.string(), "question": pa.string(),
         "answer_prefix": pa.string(), "answer": texts, "max_new_tokens": pa.int64()}
    )  # fmt: skip
    written: dict[str, int] = {}
    with ExitStack() as opened:
        writers: dict[str, Any] = {}
        for config, table in _tables(chosen, folder, options, schema):
            name = f"kvpress/{config}/test.parquet"
            if name not in writers:
                (folder / name).parent.mkdir(parents=True)
                writers[name] = opened.enter_context(pq.ParquetWriter(folder / name, schema, compression="zstd"))
            writers[name].write_table(table)
            written[name] = written.get(name, 0) + table.num_rows
    return written


def _tables(chosen: Chosen, folder: Path, options: ExportOptions, schema: pa.Schema) -> Iterator[tuple[str, pa.Table]]:
    """Tables of rows that follow each other and have the same config, each of a bounded size."""
    import pyarrow as pa

    prefixes: dict[tuple[str, str], str] = {}
    for config, entries in groupby(_entries(chosen, folder), key=lambda pair: str(pair[0]["config"])):
        rows: list[dict[str, Any]] = []
        size = 0
        for _, row in entries:
            context, question = parted(row)
            prefix = _prefix(row)
            if prefixes.setdefault((config, sha256_hex(context.encode())), prefix) != prefix:
                problem = "its answer_prefix differs from that of another row over its context, which KVPress refuses"
                raise NiahError(f"row {row['id']}: {problem}; export them apart with --subset")
            rows.append(
                {"id": row["id"], "task": _task(row), "context": context, "question": question,
                 "answer_prefix": prefix, "answer": _outputs(row), "max_new_tokens": options.limit(row)}
            )  # fmt: skip
            size += len(context)
            if size > _GROUP_BYTES:
                yield config, pa.Table.from_pylist(rows, schema)
                rows, size = [], 0
        if rows:
            yield config, pa.Table.from_pylist(rows, schema)


def _entries(chosen: Chosen, folder: Path) -> Iterator[tuple[Row, Row]]:
    """What each row is chosen by, and the row."""
    return zip(chosen.entries, chosen.rows(_COLUMNS, folder), strict=True)


def _scbench(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    """A line for each context; rows that follow each other and have the same context are its turns."""
    name = "scbench.jsonl"
    count = 0
    with (folder / name).open("wb") as file:
        for number, (context, rows) in enumerate(groupby(_parted(chosen, folder), key=lambda one: one[0])):
            # Its scorer looks for one text.
            turns = [{"id": row["id"], "input": question, "answer": row["answers"][0]} for _, question, row in rows]
            line = {"id": number, "context": context, "multi_turns": turns}
            file.write(orjson.dumps(line) + b"\n")
            count += len(turns)
    return {name: count}


def _parted(chosen: Chosen, folder: Path) -> Iterator[tuple[str, str, Row]]:
    for row in chosen.rows(_COLUMNS, folder):
        yield *parted(row), row


def _sessions(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    """A line for each context: its rows as turns, each with the messages to add before it is sent."""
    name = "openai-sessions.jsonl"
    seen: set[str] = set()
    count = 0
    with (folder / name).open("wb") as file:
        for context, rows in groupby(_parted(chosen, folder), key=lambda one: one[0]):
            session = sha256_hex(context.encode())[:12]
            turns: list[dict[str, Any]] = []
            for _, question, row in rows:
                if session in seen or not context:
                    problem = "has no context of its own, or one that rows elsewhere in this order share"
                    todo = "leave out controls with --subset control=none, and --order"
                    raise NiahError(f"row {row['id']}: {problem}, so it is no turn of a session; {todo}")
                messages = [Message(role="user", content=question)] if turns else options.messages(row)
                turns.append({"id": row["id"], "max_tokens": options.limit(row), "messages": messages})
            seen.add(session)
            file.write(orjson.dumps({"id": session, "turns": turns}) + b"\n")
            count += len(turns)
    return {name: count}


def _by_elimination(chosen: Chosen) -> str | None:
    """What is wrong with sessions over worlds that each have exactly one question without an answer."""
    recipe = load_recipe(chosen.dataset.folder / RECIPE, here=False)
    if not any(part.has_worlds and part.task != "tally" and not part.options.get("empty") for part in recipe.parts):
        return None
    why = "one question of each world has no answer in the text, so the last turns can be guessed by elimination"
    return f"{why}; a dataset built with --empty varied has 0 to 2 of them"


def _load_test(row: Row, options: ExportOptions) -> dict[str, Any]:
    """vLLM's bench reads `prompt` and `output_tokens`, GuideLLM `prompt` and `output_tokens_count`.

    `conversations` is for the dataset `custom` of SGLang. GuideLLM takes the first column that may be a prompt.
    """
    text, limit = one_message(row), options.limit(row)
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": (row["answers"] or [""])[0]}]
    return {
        "id": row["id"], "prompt": text, "output_tokens": limit, "output_tokens_count": limit, "conversations": said,
    }  # fmt: skip


def _load_test_chat(row: Row, options: ExportOptions) -> dict[str, Any]:
    """SGLang's bench_serving sends every other field of a line as a part of the request."""
    return {**options.fields, "messages": options.messages(row), "max_tokens": options.limit(row)}


def _ruler(row: Row, options: ExportOptions) -> dict[str, Any]:
    """A line of RULER's validation.jsonl; its runner hands `others` back beside the prediction."""
    return {
        "input": one_message(row), "outputs": _outputs(row), "length": row["prompt_tokens"],
        "answer_prefix": _prefix(row), "others": {"id": row["id"]},
    }  # fmt: skip


def _sft(row: Row, options: ExportOptions) -> dict[str, Any]:
    """A conversation that ends with the right answer."""
    answer = Message(role="assistant", content=row["answers"][0])
    return {"id": row["id"], "messages": [*options.messages(row), answer]}


def _refuse_tests(chosen: Chosen) -> None:
    """Raise NiahError unless all worlds of a dataset are of the split for training."""
    recipe = load_recipe(chosen.dataset.folder / RECIPE, here=False)
    if any(part.options.get("split") != "train" for part in recipe.parts):
        problem = "the dataset is for testing, and its answers would be in the training set"
        raise NiahError(f"{chosen.dataset.folder}: {problem}; build one with --split train, which shares no schema")


def _lines(
    what: str,
    pattern: str,
    line: Callable[[Row, ExportOptions], dict[str, Any]],
    place: Callable[[Row, Row], str],
    takes: Sequence[str] = (),
    check: Callable[[Chosen], None] | None = None,
    number: str | None = None,
) -> ExportFormat:
    """A format of JSON lines, each row's in the file at `place`. `number`: a field for its number there, from 0."""

    def write(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
        if check is not None:
            check(chosen)
        written: dict[str, int] = {}
        with ExitStack() as opened:
            files: dict[str, Any] = {}
            for entry, row in _entries(chosen, folder):
                name = place(entry, row)
                if name not in files:
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    files[name] = opened.enter_context((folder / name).open("wb"))
                count = written.get(name, 0)
                numbered = {} if number is None else {number: count}
                files[name].write(orjson.dumps(numbered | line(row, options)) + b"\n")
                written[name] = count + 1
        return written

    return ExportFormat(what, pattern, write, tuple(takes))


CONTEXTS: dict[str, ExportFormat] = {
    "kvpress": ExportFormat(
        "KVPress's evaluate.py: Parquet with context, question, answer_prefix, answer, max_new_tokens",
        "kvpress/*/test.parquet", _kvpress, _LIMITS,
        advice="link {out}/kvpress as simonjegou/ruler, run evaluate.py there with --dataset ruler and --data_dir of a "
        "language and length, then: niah-score score {dataset} predictions.csv",
    ),
    "scbench": ExportFormat(
        "SCBench: a line for each context, with its questions as turns",
        "scbench.jsonl", _scbench,
        advice="run it with --task scbench_prefix_suffix --same_context_different_query --max_turns -1; results name "
        "no row and are joined in the order of the dataset, so run all of it: niah-score score {dataset} "
        "prediction_scbench_prefix_suffix_scdq.jsonl --by-order",
    ),
    "openai-sessions": ExportFormat(
        "conversations for a server: a line for each context, with its questions as turns",
        "openai-sessions.jsonl", _sessions, ("system", *_LIMITS), doubt=_by_elimination,
    ),
    "load-test": _lines(
        "prompts for vllm bench, GuideLLM and SGLang's bench_serving, with the tokens that a reply may have",
        "load-test.jsonl", _load_test, lambda entry, row: "load-test.jsonl", _LIMITS,
    ),
    "load-test-chat": _lines(
        "messages for SGLang's bench_serving, with the tokens that a reply may have",
        "load-test-chat.jsonl", _load_test_chat, lambda entry, row: "load-test-chat.jsonl",
        ("fields", "system", *_LIMITS),
    )._replace(reserved=_FILLED),
    "sft": _lines(
        "conversations with the right answer, for training on worlds built with --split train",
        "sft.jsonl", _sft, lambda entry, row: "sft.jsonl", ("system",), _refuse_tests,
    ),
    "ruler": _lines(
        "RULER's own data files, for its runner and the forks of it",
        "ruler/*/data/*/validation.jsonl", _ruler,
        lambda entry, row: f"ruler/{entry['config']}/data/{plain_name(_task(row))}/validation.jsonl",
        number="index",
    )._replace(
        advice="run its call_api.py with --data_dir {out}/ruler/CONFIG/data; a task that RULER does not have needs a "
        "line in its scripts/synthetic.yaml, NAME: {{task: niah}}",
    ),
}  # fmt: skip
