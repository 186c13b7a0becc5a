"""Samples of lm-evaluation-harness: ids, repeats and filters."""

from __future__ import annotations

import json

import pytest
from answer_files import ReadRecords, lm_eval_sample, only
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from niah_score.contract import Message, prompt_digest
from niah_score.formats import Answer, Malformed, read_answers, streams


def test_a_sample_is_identified_by_the_id_in_its_doc_or_by_prompt_and_position(read_records: ReadRecords) -> None:
    answer = only(read_records(lm_eval_sample()))
    assert (answer.id, answer.prompt_sha256, answer.position) == ("x", prompt_digest("p"), None)
    old = only(read_records(lm_eval_sample(doc={"prompt": "p"}, arguments=[["p", {"until": []}]])))
    assert (old.id, old.prompt_sha256, old.position) == (None, prompt_digest("p"), 5)


CHAT = [Message(role="system", content="s"), Message(role="user", content="u")]


@pytest.mark.parametrize(
    "argument", [CHAT, [json.dumps(CHAT)], [json.dumps([{**message, "type": "text"} for message in CHAT])]]
)
def test_a_chat_is_identified_by_the_digest_of_its_messages(read_records: ReadRecords, argument: object) -> None:
    """Clients of servers log a chat as JSON text in a list of one; others log it as it is."""
    answer = only(read_records(lm_eval_sample(arguments={"gen_args_0": {"arg_0": argument}})))
    assert (answer.prompt_sha256, answer.chat_sha256) == (prompt_digest(CHAT), None)
    older = only(read_records(lm_eval_sample(arguments=[[argument, {"until": []}]])))
    assert older.prompt_sha256 == prompt_digest(CHAT)


def test_a_chat_of_one_message_is_also_identified_by_its_text(read_records: ReadRecords) -> None:
    alone = CHAT[1:]
    answer = only(read_records(lm_eval_sample(arguments={"gen_args_0": {"arg_0": [json.dumps(alone)]}})))
    assert (answer.prompt_sha256, answer.chat_sha256) == (prompt_digest("u"), prompt_digest(alone))


@pytest.mark.parametrize("argument", [["no JSON"], ["[1, 2]"], [], None, 5, [["x"]]])
def test_an_argument_that_is_not_a_chat_is_not_a_prompt(read_records: ReadRecords, argument: object) -> None:
    answer = only(read_records(lm_eval_sample(arguments={"gen_args_0": {"arg_0": argument}})))
    assert (answer.id, answer.prompt_sha256) == ("x", None)


def test_repeats_are_samples(read_records: ReadRecords) -> None:
    records = read_records(lm_eval_sample(resps=[["a", "b"]], filtered=["a"]))
    assert [(r.sample, r.text) for r in records if isinstance(r, Answer)] == [(0, "a"), (1, "b")]
    assert only(read_records(lm_eval_sample("maj@2", resps=[["a", "b"]], filtered=["b"]))).text == "b"


def test_lines_of_other_filters_are_ignored(read_records: ReadRecords) -> None:
    strict, loose = lm_eval_sample("strict", filtered=["s"]), lm_eval_sample("loose", filtered=["l"])
    assert [record.line for record in read_records(strict, strict, loose, loose)] == [1, 2]
    records = read_records(strict, lm_eval_sample("none", doc={"q": '"none"'}), loose, lm_eval_sample("none"))
    assert [record.line for record in records] == [2, 4]


def test_log_likelihoods_are_not_text(read_records: ReadRecords) -> None:
    (record,) = read_records(lm_eval_sample(resps=[[["-1.5", "False"]]], filtered=[["-1.5", "False"]]))
    assert isinstance(record, Malformed)
    assert "not text" in record.message


@examples(50)
@given(
    st.lists(st.sampled_from(["none", "strict", "loose", None]), min_size=1, max_size=8), st.sampled_from([64, 10**6])
)
def test_lines_of_the_filter_none_count_or_else_those_of_the_first_filter(
    tmp_path_factory: pytest.TempPathFactory, filters: list[str | None], head: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "filters"
    records = [lm_eval_sample() | {"filter": name} for name in filters]
    for record in records:
        if record["filter"] is None:
            del record["filter"]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    names = ["none" if name is None else name for name in filters]
    # A line without a filter counts as `none`, but where no line names `none` it decides only if it comes first.
    spelled = "none" in filters or filters[0] is None
    chosen = "none" if spelled else names[0]
    expected = [number for number, name in enumerate(names, 1) if name == chosen]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_CHUNK", head)
        assert [record.line for record in read_answers(path)] == expected
