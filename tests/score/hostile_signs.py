"""Lists signs with a meaning in Markdown and LaTeX, and all other texts that must be escaped."""

from __future__ import annotations

import hostile

SIGNS = [
    r"\input{/etc/passwd}", r"\write18{ls}", "$x^2$", "a_b", "100%", "#1 & more", "~", "{", "}}", "a|b", "`code`",
    "**bold**", "<script>alert(1)</script>", "[x](javascript:alert(1))", "![x](http://x)", "https://x.org", "www.x.org",
    "+ x", "12. x", "===",
    "\x1b]0;x\x07", "\u202eabc", "line\nbreak", "\\", "\\\\", "\\|", "--", "---", "''", "``", "?`", ",,", "[1]", "*",
    '"',
    "模型（七号）", "±≥†", "&lt;", "\\begin{document}", "^^M", "!", "_", "a\tb", "\ufeff", "=1+1", "\u2028",
    " ", "",
]  # fmt: skip

EVERY = [*SIGNS, *hostile.HOSTILE, *hostile.SURROGATES]
