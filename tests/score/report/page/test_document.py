"""The file contains its own style and script, and its content security policy allows nothing else."""

from __future__ import annotations

import base64
import hashlib
import re

from niah_score.report.page.render import page_of
from niah_score.report.report import Report


def test_the_file_is_self_contained_and_its_policy_allows_only_its_script_and_style(report: Report) -> None:
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
