"""Whatever the bytes, reading yields Answers and Malformed or raises a ScoreError, and nothing else."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from properties import examples

from niah_score.errors import ScoreError
from niah_score.formats import FORMATS, Answer, Malformed, containers, read_answers
from niah_score.formats.record import FieldNames, Format
from niah_score.formats.streams import opened
from niah_score.join.coordinates import as_json

fuzzed = examples(120, HealthCheck.data_too_large)
KEYS = re.findall(
    r"\S+",
    """id _id custom_id key prediction pred output outputs response body choices message content text type role parts
    candidates thought finishReason finish_reason stop_reason error status status_code request contents result doc
    doc_id resps filtered_resps filter arguments gen_args_0 arg_0 target origin_prompt prompt idx data args eval samples
    epoch input completion __doc__ __model_response__ query specific choices gold_index reasoning sample answers
    all_classes length object version 0 1 limit promptFeedback incomplete_details refusal model_response context_length
    depth_percent needle model_id target_depth_percent recipe needle_placements seed prompt_question run runs example
    inputs inputs.id outputs.answer metadata dataset_id run_type reference_outputs parent_run_id extra""",
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["assistant", "HUMAN", "stop", "length", "succeeded", "output_text", "none", "chat", "2" * 5000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=20,
)
RECORDS = st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=8)


def read(path: Path, form: Format | None = None, **options: str) -> None:
    """Reads a file, as any format or as one, and checks what must be true of every record in it."""
    try:
        with nullcontext() if form is None else opened(path) as source:
            named = source and form and containers.read(source, [form], FieldNames())[1]
            records = list(named or read_answers(path, **options))
        for record in records:
            if isinstance(record, Malformed):
                assert record.message
                assert "\n" not in record.message
                record.message.encode()
            else:
                check(record)
            assert record.line > 0
    except ScoreError as error:
        message = str(error)
    else:
        return
    message.encode()
    assert str(path) in message


def check(answer: Answer) -> None:
    assert isinstance(answer, Answer)
    assert (answer.id, answer.prompt_sha256, answer.position, answer.coordinates) != (None, None, None, None)
    assert answer.id is None or (isinstance(answer.id, str) and answer.id)
    assert answer.text is None or isinstance(answer.text, str)
    assert answer.finish in ("", "stop", "truncated", "refused")
    assert answer.error is None or (0 < len(answer.error) <= 500 and len(answer.error.splitlines()) == 1)
    assert answer.position is None or answer.position >= 0
    assert answer.sample >= 0
    cell = answer.coordinates
    if cell is not None:
        assert cell.length > 0
        assert 0 <= cell.depth_percent <= 100
        as_json(cell)
    for text in (answer.id, answer.text, answer.reasoning, answer.error, *(answer.reference or ())):
        assert text is None or text.encode() is not None  # half of a surrogate pair is not text


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "any"


@fuzzed
@given(records=st.lists(RECORDS, min_size=1, max_size=4), form=st.sampled_from(["lines", "array", "object"]))
def test_known_fields_with_wrong_values_yield_records_or_a_score_error(
    path: Path, records: list[dict[str, object]], form: str
) -> None:
    if form == "lines":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        path.write_text(json.dumps(records if form == "array" else records[0], indent=1))
    read(path)
    read(path, id_field="id", text_field="output.completion")
    for kind in FORMATS.values():
        if kind.container == "json":
            read(path, kind)
