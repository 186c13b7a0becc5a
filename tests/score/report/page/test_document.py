"""The file holds its style and script, reaches for nothing outside, and reads no text as markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

from hostile import HOSTILE, SURROGATES
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

import niah_score
from niah_score.html.document import as_json
from niah_score.report.page.render import page_of
from niah_score.report.report import Report

FOLDER = Path(niah_score.__file__).parent / "report" / "page"


def test_the_file_is_whole_in_itself_and_its_policy_names_its_own_script_and_style_only(report: Report) -> None:
    text = page_of(report).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {
        "default-src", "script-src", "style-src", "base-uri", "form-action", "require-trusted-types-for",
        "trusted-types",
    }  # fmt: skip
    for name, element in (("script-src", "script"), ("style-src", "style")):
        (inside,) = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert re.findall(r"<(\w+)", re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)) == [
        "html", "head", "meta", "meta", "meta", "meta", "meta", "title", "body", "div", "noscript", "p",
    ]  # fmt: skip


def test_the_sources_reach_for_nothing_outside_and_read_no_text_as_markup() -> None:
    for path in sorted(FOLDER.glob("*.*s*")):
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        for sink in (
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser",
            "createContextualFragment", "setTimeout(", "javascript:", "://", "url(", "@import", "fetch(",
            "XMLHttpRequest", "WebSocket", "import(", "localStorage", "cookie",
        ):  # fmt: skip
            assert path.suffix == ".py" or sink not in text, f"{path.name}: {sink}"


@examples(60)
@given(st.text(st.characters()) | st.sampled_from([*HOSTILE, *SURROGATES]))
def test_no_text_ends_its_block_or_changes_on_its_way(text: str) -> None:
    made_of = as_json({"x": [text], text: 1})
    assert not set("<>&\u2028\u2029") & set(made_of)
    assert json.loads(made_of) == {"x": [text], text: 1}
    made_of.encode()
