"""Proves rows from their prompts: texts are searched, digested and encoded whole, and truths are read back.

That rows are those of their recipe is for `verify --full`, which builds them again, and for the recorded digests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from contexts import ContextProof, CountedHaystack, PlacedNeedle, whole_token_spans
from truths import check_context, check_truth

import niah_gen
from niah_gen.checks.rebuild import rebuild
from niah_gen.dataset.read import rows_in
from niah_gen.prompts.frame import Frame, make_frame
from niah_gen.recipe.part import settings_of
from niah_gen.recipe.read import load_recipe
from niah_gen.recipe.recipe import Part, Recipe
from niah_gen.tasks.base import NO_CONTEXT, item_ids, item_of, shown_of
from niah_gen.tasks.hiding import lines_of
from niah_gen.tasks.records import Cell, Item
from niah_gen.tasks.registry import chosen_task
from niah_gen.tokenizers.find import Tokenizer, find_tokenizer
from niah_score.contract import RECIPE, Dataset, Row, needle_kind, prompt_digest, read_manifest


class Proof(NamedTuple):
    """What is wrong with a dataset. `not_rebuilt`: why its rows were not built again; None if they were."""

    problems: tuple[str, ...]
    not_rebuilt: str | None
    rows: int


def prove(
    folder: Path, *, corpora: Sequence[str] = (), task_modules: Collection[str] = (), jobs: int | None = 1
) -> Proof:
    """Build the rows of a dataset again, compare them, and prove each row of every format from its own columns."""
    done = rebuild(folder, corpora=corpora, task_modules=task_modules, jobs=jobs)
    manifest = read_manifest(folder)
    recipe = load_recipe(folder / RECIPE, here=False, task_modules=task_modules)
    dataset = Dataset(folder, manifest)
    rows = [row for suffix in dataset.formats for file in dataset.files(suffix) for row in rows_in(file.path)]
    problems = wrong_rows(recipe, rows, find_tokenizer(manifest.tokenizer.name), task_modules)
    return Proof((*done.problems, *problems), done.not_rebuilt, len(rows))


def wrong_rows(
    recipe: Recipe, rows: Sequence[Any], tokenizer: Tokenizer | None = None, task_modules: Collection[str] = ()
) -> list[str]:
    """What the prompts and columns of a recipe's rows show to be wrong, a text for each wrong row."""
    tokenizer = tokenizer or find_tokenizer(recipe.tokenizer)
    provers = {part.name: PartProver(recipe, part, tokenizer, task_modules) for part in recipe.parts}
    problems = []
    for row in rows:
        try:
            provers[row["part"]].prove(row)
        except AssertionError as error:
            problems.append(f"{row['id']}: {error}")
    return problems


def proved_rows(preset: str | Mapping[str, Any], **fields: Any) -> list[Row]:
    """The rows of a preset or recipe with some fields changed, each proved."""
    recipe = load_recipe(preset, fields)
    rows = list(niah_gen.iter_rows(recipe))
    assert wrong_rows(recipe, rows) == []
    return rows


class PartProver:
    """Proves the rows of one part. What depends on a haystack alone is kept while consecutive rows share it."""

    def __init__(self, recipe: Recipe, part: Part, tokenizer: Tokenizer, task_modules: Collection[str]) -> None:
        self._part, self._form, self._tokenizer = part, recipe.form, tokenizer
        self._task = chosen_task(part.task, part.options, allowed=task_modules)
        self._settings = settings_of(part, self._task)
        self._exact = self._task.context.is_exact(part.placing)
        self._ids = lru_cache(lambda language: set(item_ids(self._task, self._settings, language)))
        self._counted = lru_cache(1)(lambda text, language: CountedHaystack(text, tokenizer, language))

    def prove(self, row: Row) -> None:
        """Prove a row whose columns have their types. Raises AssertionError."""
        self._check_prompt(row)
        if self._task.replays:
            self._check_replayed(row)
        elif row["control"] == NO_CONTEXT:
            assert (row["needle_spans"], row["haystack_id"], row["haystack_tokens"]) == ([], None, 0)
            assert (row["question"] or "") in _contents(row)[-1]
        else:
            own, item = self._items(row)
            truth = {
                "question": item.question, "answers": list(item.answers), "metric": item.metric,
                "keywords": [list(group) for group in item.keywords], "decoys": [list(group) for group in item.decoys],
                "needles": self._hidden(item),
            }  # fmt: skip
            assert {name: cast("dict[str, Any]", row)[name] for name in truth} == truth
            self._check_context(row, own, item)
        if self._task.replays or row["control"] != NO_CONTEXT:
            check_truth(row)

    def _items(self, row: Row) -> tuple[Item, Item]:
        """The item of a row's cell, and that or its control's twin."""
        if self._task.reads_corpora:
            # Families whose items come with their texts give them in the row alone.
            item = Item(
                needle_kind(row["needle_id"] or ""), row["language"], row["question"], tuple(row["answers"]),
                tuple(map(tuple, row["keywords"])), row["metric"], tuple(row["needles"]),
                decoys=tuple(map(tuple, row["decoys"])),
            )  # fmt: skip
            return item, item
        name = row["needle_id"] or ""
        cell = Cell(
            row["language"], row["corpus"], row["length"] or 0,
            name if name in self._ids(row["language"]) else needle_kind(name), row["repeat"], row["depth_percent"],
            row["control"], row["part"],
        )  # fmt: skip
        own = item_of(self._task, self._settings, cell)
        asked = next((one for one in own.asks if one.question == row["question"]), own)
        return own, shown_of(self._task, cell, asked)

    def _hidden(self, item: Item) -> list[str]:
        return list(map(self._part.placing.hidden, item.hide))

    def _check_prompt(self, row: Row) -> None:
        contents, tokenizer = _contents(row), self._tokenizer
        content = contents[max(row["context_message"], 0)]
        tokens = sum(map(tokenizer.count, contents))
        assert (row["prompt_sha256"], row["prompt_tokens"]) == (prompt_digest(row["prompt"]), tokens)
        targets = [] if row["target_span"] is None else [row["target_span"]]
        for span in (*row["needle_spans"], *targets):
            assert 0 <= span["start"] <= span["end"] <= len(content)
        assert row["needle_token_spans"] == whole_token_spans(content, row["needle_spans"], tokenizer)
        assert all(span["start"] < span["end"] for span in targets)
        tokens_of_target = [] if row["target_token_span"] is None else [row["target_token_span"]]
        assert tokens_of_target == whole_token_spans(content, targets, tokenizer)
        # A control's twin may be longer than the item that its haystack was filled for.
        if self._exact and row["length"]:
            assert tokens <= row["length"] - (self._part.reserve if row["control"] is None else 0)

    def _check_replayed(self, row: Row) -> None:
        contents = _contents(row)
        content = contents[row["context_message"]] if 0 <= row["context_message"] < len(contents) else contents[0]
        for needle, span in zip(row["needles"], row["needle_spans"], strict=False):
            assert content[span["start"] : span["end"]] == needle

    def _check_context(self, row: Row, own: Item, item: Item) -> None:
        """Check the messages, the spans, and what the family promises about its contexts."""
        part, texts = self._part, self._hidden(item)
        template = part.template_in(row["language"])
        assert template is not None
        frame = make_frame(
            template, self._form, part.placement, part.guide, item.question or "", part.question_position, item.opening
        )
        # Of the families that hide what is asked, only some of users' own hide it in a conversation.
        content = _content_in(frame, row, ":" in part.task)
        begin, finish = len(frame.before), len(content) - len(frame.after)
        if self._exact:
            for text in texts:
                (at,) = [one for one in _contents(row) if text in one] or [""]
                assert at.find(text) == at.rfind(text) >= 0, f"{text!r} does not stand exactly once in the prompt"
        assert len(row["needle_spans"]) == len(row["needle_depths"]) == len(texts)
        for span in (*row["needle_spans"], *([row["target_span"]] if row["target_span"] else [])):
            assert begin <= span["start"] <= span["end"] <= finish, "a span lies outside the context"
        lines = lines_of(own.depths or part.spread, part.diff, row["seed"], own.hide, item.hide, own.sets)
        needles = tuple(
            PlacedNeedle(text, span["start"] - begin, span["end"] - begin)
            for text, span in zip(texts, row["needle_spans"], strict=True)
        )
        check_context(self._task, part.placing, ContextProof(
            row, content[begin:finish], needles, tuple(line.at(row["depth_percent"] or 0.0) for line in lines),
            self._task.context.joiner(row["language"]), self._tokenizer,
            partial(self._counted, language=row["language"]),
        ))  # fmt: skip


def _contents(row: Row) -> list[str]:
    """The texts that the model reads: the prompt, or each message's content."""
    prompt = row["prompt"]
    return [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]


def _content_in(frame: Frame, row: Row, conversation: bool) -> str:
    """The prompt, or its message that holds the context, after a check that the template stands around the context."""
    prompt = row["prompt"]
    if isinstance(prompt, str):
        assert row["context_message"] == -1
        content = prompt
    else:
        last = frame.hole + len(prompt) - len(frame.messages) + 1
        if not conversation:
            assert last == frame.hole + 1
            assert prompt[frame.hole]["role"] == frame.messages[frame.hole].role
        assert frame.hole <= row["context_message"] < last
        around = [(one["role"], one["content"]) for one in (*prompt[: frame.hole], *prompt[last:])]
        assert around == [tuple(one) for number, one in enumerate(frame.messages) if number != frame.hole]
        content = prompt[row["context_message"]]["content"]
    assert content.startswith(frame.before)
    assert content[len(frame.before) :].endswith(frame.after)
    return content
