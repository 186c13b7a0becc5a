"""Determines what came back for each row: an answer, nothing, an error, a refusal, or a text that was cut off."""

from __future__ import annotations

STATUSES = ("ok", "missing", "empty", "truncated", "think_unclosed", "refused", "error")


def status_of(
    raw: str, answer: str, finish: str | None, *, missing: bool, failed: bool, thought: bool, unclosed: bool
) -> str:
    """The status of a joined row: the first one that applies.

    `raw`: the text; `answer`: what is left without reasoning. `finish`: why the model stopped. `missing`: there is no
    answer; `failed`: an error is reported. `thought`: the stack returned reasoning apart from the text; `unclosed`: the
    text begins with reasoning that never ends.
    """
    if missing:
        return "missing"
    if failed:
        return "error"
    if finish == "refused":
        return "refused"
    cut = finish == "truncated"
    # A text that is nothing but reasoning.
    only_thought = not answer and (thought or (raw != "" and not raw.isspace()))
    if unclosed or (cut and only_thought):
        return "think_unclosed"
    if cut:
        return "truncated"
    return "ok" if answer else "empty"
