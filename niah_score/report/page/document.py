"""Assembles the HTML file: data, style and script inside, and a policy that lets nothing else in.

The data is JSON in a block that no browser executes. Every text that comes from outside is in that block and nowhere
else, and the script shows it as text nodes only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

# In this order; they share one scope.
SCRIPTS = ("text.js", "figures.js", "overview.js", "heatmap.js", "parts.js", "examples.js", "report.js")
# What would end the block, or a line of it, in HTML or in JavaScript. A lone surrogate is not UTF-8 at all.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def as_json(data: dict[str, Any]) -> str:
    """Data as JSON that is safe inside a script element. Raises ValueError for numbers that JSON does not have."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def document(data: str) -> bytes:
    """The file that shows some data (as `as_json` leaves it)."""
    style = _asset("report.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_asset, SCRIPTS)) + "})();\n"
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    parts = {"POLICY": policy, "STYLE": style, "SCRIPT": script, "DATA": data}
    return re.sub(r"@(POLICY|STYLE|SCRIPT|DATA)@", lambda found: parts[found[1]], _asset("page.html")).encode()


def _asset(name: str) -> str:
    return files("niah_score.report.page").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
