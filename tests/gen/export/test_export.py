"""Every export asks exactly the rows of its dataset, and answers given by a plan score as planned."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from each import each
from folders import tree
from planned_answers import PLAN, SERVICES, Planned, answer_all, planned

from niah_gen.dataset.read import columns_in, rows_in
from niah_gen.errors import IntegrityError, LockedError, NiahError, ResourceError
from niah_gen.export.base import Chosen, ExportOptions, ExportRow, WrittenFile
from niah_gen.export.export import EXPORTS, export
from niah_score import evaluate
from niah_score.contract import BATCH_LIMITS, open_dataset
from niah_score.machine.files import locked
from niah_score.machine.staging import STAGING

MODEL = ExportOptions(model="m")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [row for file in open_dataset(folder).files() for row in rows_in(file.path)]


def exported(folder: Path, service: str, out: Path, **arguments: Any) -> Path:
    """Exports for a service of SERVICES: a format, and after it perhaps an API."""
    to, _, api = service.partition(" ")
    takes = EXPORTS[to].takes
    export(folder, to, out, ExportOptions(model="m" if "model" in takes else None, api=api or None), **arguments)
    return out


def refused(*arguments: Any, **named: Any) -> str:
    with pytest.raises(NiahError) as caught:
        export(*arguments, **named)
    return str(caught.value)


@each("where", ["the dataset", "the export"])
def test_a_permission_error_names_the_file_that_was_read_or_written(
    where: str, grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    shard = next(grid.glob("data/*/*.parquet"))

    def rows(*given: object) -> Iterator[ExportRow]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(shard if where == "the dataset" else out))

    monkeypatch.setattr("niah_gen.export.base.Chosen.rows", rows)
    if where == "the dataset":
        with pytest.raises(PermissionError) as caught:
            export(grid, "vllm", out, MODEL)
        assert caught.value.filename == str(shard)
    else:
        with pytest.raises(ResourceError, match=r"out: cannot be written to \(Permission denied\)"):
            export(grid, "vllm", out, MODEL)
    assert not out.exists()


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


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("form", ["grid", "chats"])
@pytest.mark.parametrize("order", ["as-is", "shuffled", "prefix"])
def test_every_request_has_the_prompt_and_the_token_limit_of_its_row(
    service: str, form: str, order: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = request.getfixturevalue(form)
    protocol = SERVICES[service]
    asked = [protocol.asked(one) for one in protocol.requests(exported(folder, service, tmp_path, order=order))]
    rows = {row["id"]: row for row in rows_of(folder)}
    assert sorted(one.id for one in asked) == sorted(rows)
    for one in asked:
        prompt = rows[one.id]["prompt"]
        assert one.messages == (prompt if form == "chats" else [{"role": "user", "content": prompt}])
        assert one.max_tokens == rows[one.id]["max_new_tokens"]


def test_text_prompts_become_plain_files_and_chats_keep_their_roles(grid: Path, chats: Path, tmp_path: Path) -> None:
    export(grid, "text", tmp_path / "texts")
    expected = {f"prompts/{row['id']}.txt": row["prompt"].encode() for row in rows_of(grid)}
    assert tree(tmp_path / "texts") == expected
    export(chats, "text", tmp_path / "chats")
    conversations = {name: json.loads(data) for name, data in tree(tmp_path / "chats").items()}
    assert conversations == {f"prompts/{row['id']}.json": row["prompt"] for row in rows_of(chats)}


def test_files_split_by_requests_or_bytes_hold_the_same_requests(grid: Path, tmp_path: Path) -> None:
    for service in ("openai-batch", "anthropic", "langsmith"):
        protocol = SERVICES[service]
        whole = protocol.requests(exported(grid, service, tmp_path / service))
        (file,) = tree(tmp_path / service).values()
        for most in (4, 5, 16):
            options = ExportOptions(model=None if service == "langsmith" else "m", max_requests=most)
            done = export(grid, service, tmp_path / f"{service}-{most}", options)
            assert [file.rows for file in done.files] == [most] * (16 // most) + ([16 % most] if 16 % most else [])
            assert protocol.requests(tmp_path / f"{service}-{most}") == whole
        largest = max(len(json.dumps(request, ensure_ascii=False).encode()) for request in whole)
        for room in (largest + 100, 3 * largest, len(file) - 1, len(file)):
            options = ExportOptions(model=None if service == "langsmith" else "m", max_bytes=room)
            done = export(grid, service, tmp_path / f"{service}-{room}-bytes", options)
            sizes = [len(data) for _, data in sorted(tree(tmp_path / f"{service}-{room}-bytes").items())]
            assert sizes == [file.bytes for file in done.files]
            assert max(sizes) <= room
            assert (len(sizes) == 1) == (room == len(file))
            assert protocol.requests(tmp_path / f"{service}-{room}-bytes") == whole


def test_a_request_too_large_for_any_file_is_refused_and_leaves_nothing(grid: Path, tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=r"row \S+: its request alone makes a file of [\d,]+ bytes, and the limit"):
        export(grid, "openai-batch", tmp_path / "out", ExportOptions(model="m", max_bytes=1000))
    assert not (tmp_path / "out").exists()


def test_the_published_limits_are_kept(grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"openai-batch": (50_000, 200), "anthropic-batch": (100_000, 256), "vertex-batch": (200_000, 1000)}
    for name, (requests, megabytes) in known.items():
        assert BATCH_LIMITS[name] == (requests, megabytes * 1_000_000)
    monkeypatch.setitem(BATCH_LIMITS, "openai-batch", BATCH_LIMITS["openai-batch"]._replace(requests=3))
    # A user can never raise a limit.
    done = export(grid, "openai-batch", tmp_path, ExportOptions(model="m", max_requests=10))
    assert max(file.rows for file in done.files) == 3


def test_overwriting_must_be_asked_for_and_replaces_all_files_of_that_format(grid: Path, tmp_path: Path) -> None:
    export(grid, "openai-batch", tmp_path, ExportOptions(model="m", max_requests=4))
    (tmp_path / "openai-answers.jsonl").write_text("mine")
    before = tree(tmp_path)
    assert len(before) == 5
    message = refused(grid, "openai-batch", tmp_path, ExportOptions(model="other"))
    assert "openai-batch-00000.jsonl and 3 more: from an earlier export" in message
    assert tree(tmp_path) == before
    export(grid, "vllm", tmp_path, MODEL)  # another format does not clash
    export(grid, "openai-batch", tmp_path, MODEL, overwrite=True)
    assert set(tree(tmp_path)) == {"openai-answers.jsonl", "openai-batch-00000.jsonl", "vllm-00000.jsonl"}


def test_an_interrupted_export_leaves_the_folder_as_it_was(
    grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = EXPORTS["openai-batch"]

    def interrupted(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
        form.write(chosen._replace(entries=chosen.entries[:9]), folder, options)
        raise KeyboardInterrupt

    monkeypatch.setitem(EXPORTS, "openai-batch", form._replace(write=interrupted))
    with pytest.raises(KeyboardInterrupt):
        export(grid, "openai-batch", tmp_path / "new", MODEL)
    assert not (tmp_path / "new").exists()
    monkeypatch.undo()
    export(grid, "openai-batch", tmp_path / "old", MODEL)
    before = tree(tmp_path / "old")
    monkeypatch.setitem(EXPORTS, "openai-batch", form._replace(write=interrupted))
    with pytest.raises(KeyboardInterrupt):
        export(grid, "openai-batch", tmp_path / "old", ExportOptions(model="other"), overwrite=True)
    assert tree(tmp_path / "old") == before


def test_an_export_into_a_folder_that_another_is_writing_to_is_refused(grid: Path, tmp_path: Path) -> None:
    with locked(tmp_path / STAGING / "lock"), pytest.raises(LockedError, match="another export is writing there"):
        export(grid, "openai-batch", tmp_path, MODEL)


def test_a_dataset_that_lost_rows_is_refused(grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("niah_gen.export.base.columns_in", lambda *asked: list(columns_in(*asked))[:-1])
    with pytest.raises(IntegrityError, match=r"3 rows, the manifest says 4; verify the dataset"):
        export(grid, "openai-batch", tmp_path / "out", MODEL)


def test_an_export_into_the_dataset_is_refused(grid: Path) -> None:
    assert "lies in the dataset" in refused(grid, "openai-batch", grid / "requests", MODEL)
    assert not (grid / "requests").exists()


def test_a_system_message_comes_first_and_is_refused_beside_another(grid: Path, chats: Path, tmp_path: Path) -> None:
    for service in ("openai-batch", "openai-batch responses", "anthropic", "gemini"):
        to, _, api = service.partition(" ")
        model = "m" if EXPORTS[to].needs_model else None
        options = ExportOptions(model=model, system="Think first.", api=api or None)
        export(grid, to, tmp_path / service, options)
        protocol = SERVICES[service]
        for request in protocol.requests(tmp_path / service):
            first, second = protocol.asked(request).messages
            assert (first, second["role"]) == ({"role": "system", "content": "Think first."}, "user")
        assert "already has a system message" in refused(chats, to, tmp_path / "chats", options)


def test_an_export_is_reproducible_and_another_is_replaced_only_when_asked(grid: Path, tmp_path: Path) -> None:
    for to, form in EXPORTS.items():
        options = ExportOptions(model="m" if form.needs_model else None)
        for name in ("one", "other"):
            export(grid, to, tmp_path / to / name, options, conditions=["every=3"], order="shuffled")
        before = tree(tmp_path / to / "one")
        assert before == tree(tmp_path / to / "other"), to
        assert "from an earlier export" in refused(grid, to, tmp_path / to / "one", options)
        assert tree(tmp_path / to / "one") == before
        export(grid, to, tmp_path / to / "one", options, overwrite=True)
        export(grid, to, tmp_path / to / "new", options)
        assert tree(tmp_path / to / "one") == tree(tmp_path / to / "new")


def test_options_that_do_not_suit_the_format_are_refused(grid: Path, chats: Path, tmp_path: Path) -> None:
    harnesses = ("lm-eval", "inspect", "lighteval", "opencompass", "opencompass-length-depth")
    for to, options, message in [
        ("openai", MODEL, "--to 'openai' is unknown; did you mean 'openai-batch'?"),
        ("vllm", ExportOptions(), "--model: vllm names the model in every request"),
        ("gemini", MODEL, "--model: gemini has no use for it"),
        ("vertex", ExportOptions(system="Be brief."), "--system: vertex has no use for it"),
        ("lighteval", ExportOptions(system="Be brief."), "--system: lighteval has no use for it"),
        ("text", ExportOptions(max_tokens=9), "--max-tokens: text has no use for it"),
        ("vllm", ExportOptions(model="m", api="responses"), "--api: vllm has no use for it"),
        ("openai-batch", ExportOptions(model="m", api="x"), "--api 'x': expected chat or responses"),
        ("vllm", ExportOptions(model="m", fields={"max_tokens": 9}), "--body max_tokens: the export fills this field"),
        ("gemini", ExportOptions(fields={"generationConfig": {"maxOutputTokens": 9}}), "use --max-tokens"),
        *((to, MODEL, f"--model: {to} has no use for it") for to in harnesses),
        *((to, ExportOptions(fields={"top_p": 1}), f"--body: {to} has no use for it") for to in harnesses),
        *((to, ExportOptions(api="chat"), f"--api: {to} has no use for it") for to in harnesses),
        *((to, ExportOptions(max_requests=3), f"--max-requests: {to} has no use for it") for to in harnesses),
    ]:
        assert message in refused(grid, to, tmp_path / "out", options)
    for to in ("lm-eval", "inspect", "opencompass", "opencompass-length-depth"):
        message = refused(chats, to, tmp_path / "out", ExportOptions(system="Think."))
        assert "already has a system message" in message, to
    assert not (tmp_path / "out").exists()
