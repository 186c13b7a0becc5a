"""Every export asks exactly the chosen rows of its dataset, and answers given by a plan score as planned."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from changed_rows import rows_of, write_lines
from hypothesis import given
from hypothesis import strategies as st
from planned_answers import PLAN, SERVICES, Planned, answer_all, planned
from properties import examples
from refused_exports import refused
from small_dataset import tree

import niah_gen
from niah_gen.errors import NiahError, ResourceError
from niah_gen.export.base import ExportOptions, indexed
from niah_gen.export.export import EXPORTS, ORDERS, answered, export, shared_percent, subset
from niah_gen.tokenizers.find import find_tokenizer
from niah_score import evaluate
from niah_score.contract import BATCH_LIMITS, open_dataset, sha256_hex
from niah_score.errors import ScoreError

Index = list[dict[str, Any]]
MODEL = ExportOptions(model="m")


def exported(folder: Path, service: str, out: Path, **arguments: Any) -> Path:
    """Exports for a service of SERVICES: a format, and after it perhaps an API."""
    to, _, api = service.partition(" ")
    takes = EXPORTS[to].takes
    export(folder, to, out, ExportOptions(model="m" if "model" in takes else None, api=api or None), **arguments)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("form", ["grid", "chats"])
def test_planned_answers_score_as_planned_and_a_second_export_asks_only_failures(
    service: str, form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = request.getfixturevalue(form)
    rows = rows_of(folder)
    plans = {row["id"]: planned(number, row) for number, row in enumerate(rows)}
    protocol = SERVICES[service]
    requests = protocol.requests(exported(folder, service, tmp_path / "out"))
    answer_all(protocol, requests, plans, tmp_path / "answers.jsonl")
    scores = evaluate(folder, tmp_path / "answers.jsonl").scores
    outcomes = {name: (status, score) for name, status, score in scores.select("id", "status", "keyword").iter_rows()}
    assert outcomes == {name: PLAN[plan.outcome] for name, plan in plans.items()}
    # Only the failed rows are missing; once they are answered, no error is left, whichever file comes first.
    again = exported(folder, service, tmp_path / "again", only_missing=[tmp_path / "answers.jsonl"])
    failed = [name for name, plan in plans.items() if plan.outcome == "failed"]
    missing = protocol.requests(again)
    assert [protocol.asked(one).id for one in missing] == failed
    right = {row["id"]: Planned("right", row["answers"][0]) for row in rows}
    answer_all(protocol, missing, right, tmp_path / "more.jsonl")
    both = evaluate(folder, [tmp_path / "more.jsonl", tmp_path / "answers.jsonl"])
    assert both.statuses["error"] == 0
    assert both.statuses["ok"] == sum(PLAN[plan.outcome][0] == "ok" for plan in plans.values()) + len(failed)


@pytest.mark.parametrize("form", ["grid", "chats"])
def test_every_request_has_the_prompt_and_limit_of_its_row(
    form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = request.getfixturevalue(form)
    rows = {row["id"]: row for row in rows_of(folder)}
    for service, protocol in SERVICES.items():
        for order in ("as-is", "shuffled", "prefix"):
            out = exported(folder, service, tmp_path / service / order, order=order)
            asked = [protocol.asked(one) for one in protocol.requests(out)]
            assert sorted(one.id for one in asked) == sorted(rows)
            assert ([one.id for one in asked] == list(rows)) == (order == "as-is")
            for one in asked:
                prompt = rows[one.id]["prompt"]
                assert one.messages == (prompt if form == "chats" else [{"role": "user", "content": prompt}])
                assert one.max_tokens == rows[one.id]["max_new_tokens"]


def test_text_prompts_become_plain_files_and_chats_keep_their_roles(grid: Path, chats: Path, tmp_path: Path) -> None:
    export(grid, "text", tmp_path / "texts")
    assert tree(tmp_path / "texts") == {f"prompts/{row['id']}.txt": row["prompt"].encode() for row in rows_of(grid)}
    export(chats, "text", tmp_path / "chats")
    conversations = {name: json.loads(data) for name, data in tree(tmp_path / "chats").items()}
    assert conversations == {f"prompts/{row['id']}.json": row["prompt"] for row in rows_of(chats)}


def test_files_that_are_split_hold_all_requests(grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for service in ("openai-batch", "anthropic", "langsmith"):
        protocol, model = SERVICES[service], None if service == "langsmith" else "m"
        whole = protocol.requests(exported(grid, service, tmp_path / service))
        (file,) = tree(tmp_path / service).values()
        for most in (5, 16):
            out = tmp_path / f"{service}-{most}"
            done = export(grid, service, out, ExportOptions(model=model, max_requests=most))
            assert [rows for _, rows, _ in done.files] == [most] * (16 // most) + ([16 % most] if 16 % most else [])
            assert protocol.requests(out) == whole
        largest = max(len(json.dumps(request, ensure_ascii=False).encode()) for request in whole)
        for room in (largest + 100, 3 * largest, len(file) - 1, len(file)):
            out = tmp_path / f"{service}-{room}-bytes"
            done = export(grid, service, out, ExportOptions(model=model, max_bytes=room))
            sizes = [len(data) for _, data in sorted(tree(out).items())]
            assert sizes == [size for *_, size in done.files]
            assert (max(sizes) <= room, len(sizes) == 1) == (True, room == len(file))
            assert protocol.requests(out) == whole
    with pytest.raises(ResourceError, match=r"row \S+: its request alone makes a file of [\d,]+ bytes, and the limit"):
        export(grid, "openai-batch", tmp_path / "out", ExportOptions(model="m", max_bytes=1000))
    assert not (tmp_path / "out").exists()
    known = {"openai-batch": (50_000, 200), "anthropic-batch": (100_000, 256), "vertex-batch": (200_000, 1000)}
    for name, (requests, megabytes) in known.items():
        assert BATCH_LIMITS[name] == (requests, megabytes * 1_000_000)
    monkeypatch.setitem(BATCH_LIMITS, "openai-batch", (3, None))
    # A user can never raise a limit.
    done = export(grid, "openai-batch", tmp_path, ExportOptions(model="m", max_requests=10))
    assert max(rows for _, rows, _ in done.files) == 3


def test_an_export_is_reproducible_and_another_is_replaced_only_when_asked(grid: Path, tmp_path: Path) -> None:
    for to, form in EXPORTS.items():
        if to == "sft":  # of worlds alone
            continue
        options = ExportOptions(model="m" if "model" in form.takes else None)
        export(grid, to, tmp_path / to / "one", options, conditions=["every=3"], order="shuffled")
        (tmp_path / to / "one" / "openai-answers.jsonl").write_text("mine")
        before = tree(tmp_path / to / "one")
        with pytest.raises(ScoreError, match=r"already holds an export .*or use --overwrite"):
            export(grid, to, tmp_path / to / "one", options)
        assert tree(tmp_path / to / "one") == before
        export(grid, to, tmp_path / to / "one", options, overwrite=True)
        export(grid, to, tmp_path / to / "new", options)
        assert tree(tmp_path / to / "one") == {**tree(tmp_path / to / "new"), "openai-answers.jsonl": b"mine"} != before
    for name in ("first", "second"):
        export(grid, "text", tmp_path / name, conditions=["every=3"], order="shuffled")
    assert tree(tmp_path / "first") == tree(tmp_path / "second")


def test_a_system_message_comes_first(grid: Path, tmp_path: Path) -> None:
    for service in ("openai-batch", "openai-batch responses", "anthropic", "gemini"):
        to, _, api = service.partition(" ")
        model = "m" if "model" in EXPORTS[to].takes else None
        export(grid, to, tmp_path / service, ExportOptions(model=model, system="Think first.", api=api or None))
        protocol = SERVICES[service]
        for request in protocol.requests(tmp_path / service):
            first, second = protocol.asked(request).messages
            assert (first, second["role"]) == ({"role": "system", "content": "Think first."}, "user")


def test_options_that_do_not_suit_rows_are_refused(grid: Path, chats: Path, twins: Path, tmp_path: Path) -> None:
    tasks = ("lm-eval", "inspect", "opencompass", "opencompass-length-depth")
    system = ExportOptions(system="Think.")
    for folder, to, options, message in [
        (grid, "openai", MODEL, "--to 'openai' is unknown; did you mean 'openai-batch'?"),
        (grid, "vllm", ExportOptions(), "--model: vllm names the model in every request"),
        (grid, "gemini", MODEL, "--model: gemini has no use for it"),
        (grid, "vertex", system, "--system: vertex has no use for it"),
        (grid, "text", ExportOptions(max_tokens=9), "--max-tokens: text has no use for it"),
        (grid, "text", ExportOptions(more_tokens=9), "--max-tokens: text has no use for it"),
        (grid, "vllm", ExportOptions(model="m", api="responses"), "--api: vllm has no use for it"),
        (grid, "openai-batch", ExportOptions(model="m", api="x"), "--api 'x': expected chat or responses"),
        (grid, "vllm", ExportOptions(model="m", fields={"max_tokens": 9}), "--body max_tokens: the export fills this"),
        (grid, "gemini", ExportOptions(fields={"generationConfig": {"maxOutputTokens": 9}}), "use --max-tokens"),
        *((grid, to, ExportOptions(fields={"top_p": 1}), f"--body: {to} has no use for it") for to in tasks),
        *((grid, to, ExportOptions(max_requests=3), f"--max-requests: {to} has no use for it") for to in tasks),
        *((chats, to, system, "already has a system message") for to in (*tasks, "gemini")),
        (twins, "opencompass-length-depth", ExportOptions(), "16 rows are controls"),
    ]:
        assert message in refused(folder, to, tmp_path / "out", options), (to, options)
    assert not (tmp_path / "out").exists()


# --- which rows ---


@pytest.fixture(scope="module")
def index(twins: Path) -> Index:
    return indexed(open_dataset(twins))


CHOICES: dict[str, tuple[str, list[Any]]] = {
    "length": ("length", [700, 900]), "depth": ("depth_percent", [0.0, 40.0, 70.0, 100.0]),
    "language": ("language", ["en", "zh"]), "control": ("control", [None, "absent"]),
}  # fmt: skip


@given(
    asked=st.fixed_dictionaries(
        {}, optional={name: st.sets(st.sampled_from(values), min_size=1) for name, (_, values) in CHOICES.items()}
    ),
    every=st.integers(1, 5),
)
@examples(40)
def test_a_subset_equals_a_slow_search_through_all_rows(index: Index, asked: dict[str, set[Any]], every: int) -> None:
    words = [f"{name}=" + ",".join("none" if one is None else str(one) for one in of) for name, of in asked.items()]
    slow = [row for row in index if all(row[CHOICES[name][0]] in values for name, values in asked.items())]
    if slow:
        assert subset(index, [*words, f"every={every}"])[0] == slow[::every]
    else:
        with pytest.raises(NiahError, match=r"no row has .* at once"):
            subset(index, words)


def test_conditions_that_select_nothing_are_refused_and_lost_values_named(index: Index) -> None:
    for words, message in {
        "depths=50": "'depths' is unknown; did you mean 'depth'?",
        "length": "expected NAME=VALUE",
        "length=8k,": "expected NAME=VALUE",
        "length=long": "expected a number of tokens such as 8000",
        "depth=deep": "could not convert string to float",
        "every=0": "not one number of at least 1",
        "every=2,3": "not one number of at least 1",
        "length=800": "--subset length=800: no row has it; there are 700, 900",
        "control=absnt": "no row has it; there are absent, none",
        "length=700 length=900": "no row has length=700 and length=900 at once",
    }.items():
        with pytest.raises(NiahError) as caught:
            subset(index, words.split())
        assert message in str(caught.value)
    rows, sentences = subset(index, ["control=none", "every=4"])
    assert {row["depth_percent"] for row in rows} == {0.0}
    assert sentences == ["every=4 keeps 1 of 4 values of depth (0); another number may keep more"]
    assert subset(index, ["control=none", "every=3"])[1] == []


def shared(one: str, other: str) -> int:
    """The length in characters of the beginning that two prompts share."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def test_prefix_order_leads_with_what_shares_most(index: Index, twins: Path) -> None:
    prompts = {row["id"]: row["prompt"] for row in rows_of(twins)}
    ordered = ORDERS["prefix"](ORDERS["shuffled"](index))
    assert {row["id"] for row in ordered} == {row["id"] for row in index}
    haystacks = [row["haystack_id"] for row in ordered]
    assert sum(one != other for one, other in pairwise(haystacks)) + 1 == len(set(haystacks))
    for name in set(haystacks):
        group = [prompts[row["id"]] for row in ordered if row["haystack_id"] == name]
        for row in group[1:]:
            assert shared(group[0], row) >= max(shared(row, other) for other in group if other is not row)


class Cache:
    """A radix cache of one token per node: a trie of the prompts that were read, the last `holds` or all of them."""

    def __init__(self, holds: int | None = None) -> None:
        self.holds = holds
        self.prompts: list[list[int]] = []
        self.root: dict[int, Any] = {}

    def read(self, prompt: list[int]) -> int:
        """How many tokens of a prompt need no prefill."""
        if self.holds is not None:
            self.root = {}
            for kept in self.prompts[-self.holds :]:
                self._enter(kept)
        self.prompts.append(prompt)
        return self._enter(prompt)

    def _enter(self, tokens: list[int]) -> int:
        node, found, is_known = self.root, 0, True
        for token in tokens:
            is_known = is_known and token in node
            found += is_known
            node = node.setdefault(token, {})
        return found


def saved(prompts: list[str], cache: Cache) -> float:
    tokens = [find_tokenizer("cl100k_base").encode(prompt).ids.tolist() for prompt in prompts]
    return 100 * sum(map(cache.read, tokens)) / sum(map(len, tokens))


@pytest.mark.slow
def test_what_a_prefix_cache_saves_is_what_a_radix_cache_of_the_exported_prompts_saves(
    twins: Path, tmp_path: Path
) -> None:
    of_worlds = {"lengths": [8000], "languages": ["en"], "parts": ["records", "lists"], "options.worlds": 1}
    worlds = niah_gen.build("default", tmp_path, overrides=of_worlds)
    shares = {}
    for folder, holds in ((worlds, None), (worlds, 1), (twins, 1)):
        for order in ("prefix", "shuffled"):
            out = tmp_path / f"{folder.name}-{holds}-{order}"
            done = export(folder, "load-test", out, order=order)
            prompts = [json.loads(line)["prompt"] for line in (out / "load-test.jsonl").read_text("utf-8").splitlines()]
            percent = shares[folder, holds, order] = saved(prompts, Cache(holds))
            rows = {row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][0]["content"]: row
                    for row in rows_of(folder)}  # fmt: skip
            if holds == 1:
                assert shared_percent([rows[prompt] for prompt in prompts]) == pytest.approx(percent, abs=0.5)
            if order == "prefix":
                (told,) = (re.search(r"save (\d+) % of", notice) for notice in done.notices if "prefix cache" in notice)
                assert told is not None
                assert abs(int(told[1]) - percent) < 1
    # A cache that forgets nothing finds the instructions as well, and no more in this order.
    assert 0 <= shares[worlds, None, "prefix"] - shares[worlds, 1, "prefix"] < 0.5
    # There are two contexts: of shuffled rows, half follow one over their own.
    assert shares[worlds, 1, "shuffled"] < 60 < 85 < shares[worlds, 1, "prefix"]


def test_every_beginning_of_the_balanced_order_has_as_much_of_each_part_language_and_length() -> None:
    kinds = [(part, language, length) for part in "ab" for language in ("en", "zh") for length in (2000, 4000)]
    rows = [
        {"part": part, "language": language, "length": length, "needle_id": f"{part}-{world}", "id": f"{number}"}
        for part, language, length in kinds for world in range(4) for number in range(3)
    ]  # fmt: skip
    ordered = ORDERS["balanced"](rows)
    for begin in range(0, 96, 24):
        beginning = ordered[begin : begin + 24]
        assert Counter((row["part"], row["language"], row["length"]) for row in beginning) == dict.fromkeys(kinds, 3)
        assert len({(row["needle_id"], row["language"]) for row in beginning}) == 4
    assert sorted(map(id, ordered)) == sorted(map(id, rows))


# --- which rows have an answer ---


def test_a_row_with_only_an_error_or_another_rows_answer_is_unanswered(index: Index, tmp_path: Path) -> None:
    def write(*records: dict[str, Any]) -> Path:
        return write_lines(tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl", records)

    one, two, three, four, *_ = (row["id"] for row in index)
    first = write(
        {"id": one, "prediction": "7"}, {"id": two, "error": "overloaded"}, {"id": three, "error": "overloaded"},
        {"id": four, "prediction": ""}, {"id": "stranger", "prediction": "7"},
    )  # fmt: skip
    second = write({"id": two, "prediction": "7"}, {"id": one, "error": "overloaded"})
    ids, sentence = answered([first, second], index)
    assert ids == {one, two, four}
    assert "3 of 32 rows have an answer; 3 records are errors, 1 belong to no row here, 0 are unreadable" in sentence
    # Rows that share a prompt each need an answer of their own.
    rows = [{**row, "prompt_sha256": sha256_hex(b"PROMPT")} for row in index[:3]]
    answer, failed = {"prompt": "PROMPT", "prediction": "7"}, {"prompt": "PROMPT", "error": "overloaded"}
    assert answered([write(answer)], rows)[0] == {one}
    assert answered([write(failed, answer)], rows)[0] == {two}
    assert answered([write(answer, answer), write(answer)], rows)[0] == {one, two, three}
    for path, kind, message in (
        (write({"id": "a", "prediction": "7"}), NiahError, "none of the 1 answers belongs to a row of this dataset"),
        (write({"prediction": "7"}), NiahError, "neither ids nor prompts"),
        (tmp_path / "gone.jsonl", ScoreError, "no such file"),
    ):
        with pytest.raises(kind, match=message):
            answered([path], index)
