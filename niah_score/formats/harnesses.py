"""Reads what harnesses log: lm-evaluation-harness, Inspect, lighteval, OpenCompass, RULER, SCBench, HELMET, LongBench.

And the results of the two needle tests that name a length and a depth: LLMTest_NeedleInAHaystack and needlehaystack 2.
"""

from __future__ import annotations

from typing import Any

from niah_score.contract import sha256_hex
from niah_score.formats import fields
from niah_score.formats.record import Completion, Coordinates, Format, Identity, Record, UnreadableError, brief


class LmEval(Format):
    name = "lm-eval"
    what = "lm-evaluation-harness samples_*.jsonl (--log_samples)"

    def matches(self, record: Record) -> bool:
        return {"doc_id", "doc"} <= record.keys() and ("resps" in record or "filtered_resps" in record)

    def identify(self, record: Record, index: int) -> Identity:
        # The prompt as it was sent: under a name, or in lists in older releases. Chats are JSON in a list.
        prompt = fields.at(record, "arguments.gen_args_0.arg_0", fields.at(record, "arguments.0.0"))
        chat = fields.at(prompt, "0")
        echo = fields.echoed(fields.json_or_none(chat) if isinstance(chat, str) else prompt)
        reference, doc = fields.references(record.get("target")), fields.inner(record, "doc")
        if "id" in doc:
            return Identity(fields.id_text(doc["id"], "doc.id"), echo, None, reference)
        return Identity(None, echo, fields.whole_number(record.get("doc_id"), "doc_id"), reference)

    def completions(self, record: Record) -> list[Completion]:
        """All samples of the filter `none`, which itself keeps only the first; of another filter its output."""
        raw, filtered = fields.at(record, "resps.0"), fields.at(record, "filtered_resps.0")
        # Generated answers are texts, log-likelihoods are pairs.
        generated = isinstance(raw, list) and all(isinstance(text, str) for text in raw)
        if generated and len(raw) > 1 and record.get("filter", "none") == "none":
            texts = raw
        elif generated and isinstance(filtered, list):
            texts = filtered
        else:
            texts = [fields.at(raw, "0") if filtered is None else filtered]
        return [Completion(fields.answer_text(text, "filtered_resps")) for text in texts] or [Completion(None)]

    def filter_of(self, record: Record) -> str | None:
        """Records of several filters repeat the same answers."""
        return str(record.get("filter", "none")) if self.matches(record) else None


class InspectJson(Format):
    name = "inspect-json"
    what = "Inspect log in JSON (--log-format json)"

    def matches(self, record: Record) -> bool:
        return "id" in record and "epoch" in record and isinstance(record.get("output"), dict)

    def identify(self, record: Record, index: int) -> Identity:
        # Inspect numbers samples without an id 1, 2, ...; then the input identifies the row.
        name, prompt = fields.id_text(record.get("id"), "id"), record.get("input")
        if isinstance(prompt, str) and prompt.startswith("attachment://"):
            prompt = fields.inner(record, "attachments").get(prompt.removeprefix("attachment://"))
        sample = fields.epoch_number(record.get("epoch"), "epoch")
        return Identity(name, fields.echoed(prompt), None, fields.references(record.get("target")), sample)

    def completions(self, record: Record) -> list[Completion]:
        output = fields.inner(record, "output")
        choice = fields.inner(output, "choices.0")
        content = fields.at(choice, "message.content")
        text = fields.answer_text(output.get("completion", content), "output.completion")
        error = fields.error_line(record.get("error")) or fields.error_line(output.get("error"))
        finish = fields.finish_of(choice.get("stop_reason"))
        if record.get("limit") and finish != "refused":
            finish = "truncated"
        # A failed sample has an empty completion.
        text = None if error and not text else text
        return [Completion(text, fields.thoughts_in(content, "reasoning"), finish, error)]

    def documents(self, document: dict[str, Any]) -> list[Any] | None:
        samples = document.get("samples")
        if not isinstance(document.get("eval"), dict):
            return None
        return samples if isinstance(samples, list) else [] if "version" in document and samples is None else None


class InspectEval(InspectJson):
    name = "inspect-eval"
    what = "Inspect log in its own format: a zip with samples/*.json"
    container = "zip"
    members = ("samples/", "header.json", "_journal/start.json")


# The names of a record's two parts: as written from release 0.11 on, and as in the documentation.
_DOCS, _RESPONSES = ("doc", "__doc__"), ("model_response", "__model_response__")
_LEAVES = (".id", ".query", ".specific.id", ".choices", ".gold_index")


class Lighteval(Format):
    name = "lighteval"
    what = "lighteval details in Parquet (--save-details)"
    container = "parquet"
    layouts = (
        *(
            (*(doc + leaf for leaf in _LEAVES), f"{response}.text.", f"{response}.reasonings.")
            for doc, response in zip(_DOCS, _RESPONSES, strict=True)
        ),
        # Flat details, from releases 0.8 to 0.10.
        ("example", "predictions", "gold.", "specifics.id"),
    )

    def matches(self, record: Record) -> bool:
        return any({leaf.split(".")[0] for leaf in layout} <= record.keys() for layout in self.layouts)

    def identify(self, record: Record, index: int) -> Identity:
        doc = fields.as_object(fields.first_of(record, _DOCS))
        # The prompt of the task. What was sent may be in a chat template, which only older releases record.
        prompt = fields.echoed(doc.get("query", record.get("example")))
        gold, choices = doc.get("gold_index"), fields.as_list(doc.get("choices"))
        places = [place for place in (gold if isinstance(gold, list) else [gold]) if isinstance(place, int)]
        right = [choices[place] for place in places if 0 <= place < len(choices)]
        reference = fields.references(right) or fields.references(record.get("gold"))
        specific = fields.as_object(doc.get("specific", record.get("specifics")))
        if specific.get("id") is not None:
            return Identity(fields.id_text(specific["id"], "specific.id"), prompt, None, reference)
        named = doc.get("id")
        if isinstance(named, str) and named and not named.isdigit():
            return Identity(named, prompt, None, reference)
        # lighteval's own ids are the places of the rows.
        place = index if named in (None, "") else fields.whole_number(named, "doc.id")
        return Identity(None, prompt, place, reference)

    def completions(self, record: Record) -> list[Completion]:
        response = fields.as_object(fields.first_of(record, _RESPONSES))
        field = "predictions" if "predictions" in record else "model_response.text"
        texts = record.get("predictions", response.get("text"))
        if not isinstance(texts, list):
            raise UnreadableError(f"the answer is not text: {field} is not a list; expected generated texts")
        thoughts = fields.as_list(response.get("reasonings"))
        if len(thoughts) != len(texts):
            thoughts = [None] * len(texts)
        return [
            Completion(fields.answer_text(text, field), fields.optional_text(thought))
            for text, thought in zip(texts, thoughts, strict=True)
        ] or [Completion(None)]


_OPENCOMPASS_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}


class OpenCompass(Format):
    name = "opencompass"
    what = "OpenCompass predictions/<model>/<dataset>.json, shards and tmp_ files as well"

    def matches(self, record: Record) -> bool:
        return "origin_prompt" in record and "prediction" in record

    def identify(self, record: Record, index: int) -> Identity:
        place = record["idx"] if "idx" in record else record.get("index", index)
        prompt = record.get("origin_prompt")
        if isinstance(prompt, list):
            turns = [fields.as_object(turn) for turn in prompt]
            roles = [_OPENCOMPASS_ROLES.get(str(turn.get("role")), turn.get("role")) for turn in turns]
            prompt = [{"role": role, "content": turn.get("prompt")} for role, turn in zip(roles, turns, strict=True)]
        echo, gold = fields.echoed(prompt), record.get("gold")
        if isinstance(gold, dict) and gold.get("id") is not None:
            # As in our exports for OpenCompass; other datasets have no ids.
            name = fields.id_text(gold["id"], "gold.id")
            return Identity(name, echo, None, fields.references(gold.get("answers")))
        return Identity(None, echo, fields.whole_number(place, "idx"), fields.references(gold))

    def completions(self, record: Record) -> list[Completion]:
        several = fields.as_list(record.get("prediction"))
        if not several or not all(isinstance(text, str) for text in several):
            several = [fields.answer_text(record.get("prediction"), "prediction")]
        return list(map(Completion, several))

    def documents(self, document: dict[str, Any]) -> list[Any] | None:
        if not all(key.isascii() and key.isdigit() and len(key) < 16 for key in document):
            return None
        if not any(isinstance(value, dict) and self.matches(value) for value in document.values()):
            return None
        return [{**value, "idx": int(key)} if isinstance(value, dict) else value for key, value in document.items()]


# How the answer prefixes of all tasks begin. None has a line end.
_RULER_PREFIXES = (" The special magic ", " Answer:")


class Ruler(Format):
    name = "ruler"
    what = "RULER predictions (pred/<task>.jsonl)"

    def matches(self, record: Record) -> bool:
        return "pred" in record and isinstance(record.get("outputs"), list)

    def identify(self, record: Record, index: int) -> Identity:
        # Not the record's `index`: the scripts reuse that variable, so it is not a row number.
        identity = fields.by_order({**fields.inner(record, "others"), **record}, "id", index, record.get("outputs"))
        sent = record.get("input")
        prompt = fields.echoed(sent)
        if prompt is not None and isinstance(sent, str):
            at = max(map(sent.rfind, _RULER_PREFIXES))
            if at > 0 and "\n" not in sent[at:]:
                prompt = prompt._replace(chat_sha256=sha256_hex(sent[:at].encode()))
        return identity._replace(prompt=prompt)

    def completions(self, record: Record) -> list[Completion]:
        return [Completion(fields.answer_text(record.get("pred"), "pred"))]


class ScBench(Format):
    name = "scbench"
    what = "SCBench predictions (prediction_<task>_<mode>.jsonl)"

    def matches(self, record: Record) -> bool:
        return {"turn_idx", "prediction", "ground_truth"} <= record.keys()

    def identify(self, record: Record, index: int) -> Identity:
        # Its `id` is the number of a context.
        return Identity(None, None, index, fields.references(record.get("ground_truth")))

    def completions(self, record: Record) -> list[Completion]:
        return [Completion(fields.answer_text(record.get("prediction"), "prediction"))]


class Helmet(Format):
    name = "helmet"
    what = "HELMET output/<model>/*.json"

    def matches(self, record: Record) -> bool:
        return "output" in record and ("output_len" in record or "parsed_output" in record)

    def identify(self, record: Record, index: int) -> Identity:
        return fields.by_order(record, "id", index, record.get("answer"))

    def completions(self, record: Record) -> list[Completion]:
        text = fields.answer_text(record.get("output"), "output")
        return [Completion(text, fields.optional_text(record.get("thoughts")))]

    def documents(self, document: dict[str, Any]) -> list[Any] | None:
        data = document.get("data")
        return data if isinstance(data, list) and ("args" in document or "metrics" in document) else None


class LongBench(Format):
    name = "longbench"
    what = "LongBench predictions, first and second version"

    def matches(self, record: Record) -> bool:
        if "_id" in record:
            return ("response" in record or "response_cot" in record) and ("judge" in record or "pred" in record)
        return "pred" in record and "answers" in record and ("all_classes" in record or "length" in record)

    def identify(self, record: Record, index: int) -> Identity:
        return fields.by_order(record, "_id", index, record.get("answers", record.get("answer")))

    def completions(self, record: Record) -> list[Completion]:
        # In the second version, `pred` is only the letter extracted from the response.
        names = ("response", "response_cot") if "_id" in record else ("pred",)
        name = next((name for name in names if name in record), names[0])
        return [Completion(fields.answer_text(record.get(name), name))]


# Systems whose answers have a length and a depth, and neither ids nor prompts.

_LONGEST = 10**9  # tokens


def _cell(
    record: Record, names: tuple[str, str, str], needles: list[str | None], question: str | None, placement: str
) -> Coordinates:
    """The cell of a result; `names`: the fields of its depth, run and model. Raises UnreadableError."""
    values: list[Any] = [record.get(field) for field in ("context_length", *names)]
    length, depth, run, model = values
    is_length = _is_number(length) and 0 < length <= _LONGEST and length == int(length)
    is_run = run is None or (type(run) is int and abs(run) < 2**63)
    if not (is_length and _is_number(depth) and 0 <= depth <= 100 and is_run and isinstance(model, str | None)):
        raise UnreadableError(
            f"context_length, {', '.join(names)} are {brief(values)}; expected a length in whole tokens, a depth of 0 "
            "to 100 percent, a whole number or null, and the name of a model"
        )
    found = tuple(needle for needle in needles if needle is not None)
    return Coordinates(int(length), float(depth), found, question, run, model or "", placement)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Gkamradt(Format):
    name = "gkamradt"
    what = "LLMTest_NeedleInAHaystack results/*_results.json"

    def matches(self, record: Record) -> bool:
        return {"model_response", "context_length", "depth_percent"} <= record.keys()

    def identify(self, record: Record, index: int) -> Identity:
        needles = [fields.optional_text(record.get("needle"))]
        return Identity(coordinates=_cell(record, ("depth_percent", "version", "model"), needles, None, self.name))

    def completions(self, record: Record) -> list[Completion]:
        return [Completion(fields.answer_text(record.get("model_response"), "model_response"))]


class NeedleHaystack2(Format):
    name = "needlehaystack2"
    what = "needlehaystack 2 result rows (the store of `niah run`)"

    def matches(self, record: Record) -> bool:
        return {"model_id", "context_length", "target_depth_percent", "response"} <= record.keys()

    def identify(self, record: Record, index: int) -> Identity:
        placed = fields.as_list(fields.as_object(record.get("recipe")).get("needle_placements"))
        needles = [fields.optional_text(fields.as_object(placement).get("text")) for placement in placed]
        question = fields.optional_text(record.get("prompt_question"))
        cell = _cell(record, ("target_depth_percent", "seed", "model_id"), needles, question, self.name)
        return Identity(reference=fields.references(record.get("expected_answer")), coordinates=cell)

    def completions(self, record: Record) -> list[Completion]:
        status, error = record.get("status"), fields.error_line(record.get("error"))
        if error is None and status not in (None, "ok"):
            error = f"status {status!r}"
        return [Completion(fields.answer_text(record.get("response"), "response"), error=error)]
