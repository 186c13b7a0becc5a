"""Puts data, styles and scripts into one HTML file that loads nothing: what the pages of both packages share.

The report's page and the dataset's page look alike, and share a grid that works by keyboard and the code that shows
texts from outside safely; what each shows is its own. Imports no other room.

It assembles an HTML file: data, styles and scripts inside, and a policy that lets nothing else in. The data is JSON in
a block that no browser executes. All text from outside is in that block and nowhere else, and the scripts show it only
as text nodes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

# With more lengths or depths, neighbours share a column or line.
MOST = 60


class Axis(NamedTuple):
    """The columns or lines ("places") of a coordinate's values, in their order.

    labels: the value at each place, None for rows without one, or [first, last] of the values that share it. places:
    the number of each value's place. grouped: whether values share places.
    """

    labels: list[Any]
    places: list[int]
    grouped: bool


def axis_of(values: Sequence[Any], most: int = MOST) -> Axis:
    """The axis of a coordinate. `values`: all different ones, sorted, None last."""
    known = [value for value in values if value is not None]
    if len(known) <= most:
        return Axis(list(values), list(range(len(values))), False)
    # As nearly as possible the same number of values at each place; rows without a value come last.
    places = [number * (most // 2) // len(known) for number in range(len(known))]
    shared: list[list[Any]] = [[] for _ in range(most // 2)]
    for value, place in zip(known, places, strict=True):
        shared[place].append(value)
    labels: list[Any] = [[group[0], group[-1]] for group in shared]
    if len(known) < len(values):
        places.append(len(labels))
        labels.append(None)
    return Axis(labels, places, True)


# Of every page, before its own; the scripts share one scope.
STYLES = ("page.css",)
SCRIPTS = ("text.js", "labels.js", "choices.js", "grid.js")
# What could end the block, or a line of it, in HTML or JavaScript; and lone surrogates, which UTF-8 cannot encode.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def as_json(data: dict[str, Any]) -> str:
    """Data as JSON that is safe inside a script element. Raises ValueError for NaN and infinity."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda char: f"\\u{ord(char[0]):04x}", text)


def document(data: str, package: str, styles: Sequence[str], scripts: Sequence[str], without_script: str) -> bytes:
    """The file that shows some data, which `as_json` made safe; in UTF-8.

    package: holds the page's own styles and scripts, which follow the shared ones in the order given. without_script: a
    plain sentence for browsers that run no JavaScript.
    """
    style = "".join([*map(_shared, STYLES), *(_asset(package, name) for name in styles)])
    code = [*map(_shared, SCRIPTS), *(_asset(package, name) for name in scripts)]
    script = '"use strict";\n(() => {\n' + "\n".join(code) + "})();\n"
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    parts = {"POLICY": policy, "STYLE": style, "SCRIPT": script, "DATA": data, "WITHOUT": without_script}
    page = re.sub(r"@(POLICY|STYLE|SCRIPT|DATA|WITHOUT)@", lambda field: parts[field[1]], _shared("page.html"))
    return page.encode()


def _shared(name: str) -> str:
    return _asset("niah_score.html", name)


def _asset(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
