"""Holds how many tokens of each prompt a server read against how many it has, and finds the prompts that were cut.

Some servers answer a prompt that is too long for them without its beginning or middle, and report success. The number
of tokens that they say they read is then too small. A smaller number alone proves nothing: the model's tokenizer is
often not the dataset's, templates add tokens, and some servers leave out cached tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from niah_score.scoring.findings import SHORTENED

if TYPE_CHECKING:
    import polars as pl

# Fewer tokens are no context window, but what a cache left to read.
_LEAST = 256
# Tokens that a template or a server's own system message may add.
_TEMPLATE = 100
_USUAL_SHARE = 0.9
# A lower ratio of two tokenizers is unusual in the languages that both were made for.
_LEAST_RATIO = 0.5
# A plateau: so many rows with the same number read, whose prompts differ by so many tokens.
_PLATEAU_ROWS, _PLATEAU_SPAN = 5, 8
# How wrong answers end that a cut prompt explains.
_EXPLAINED = ("partly", "wrong_needle", "said_absent", "nothing")


def shortened(frame: pl.DataFrame) -> pl.Series:
    """Which lines of scores have a prompt that the server cut: a column of true and false, without nulls.

    `frame`: with the columns of scores.parquet; none is cut without `prompt_tokens` and `prompt_tokens_read`. Lines of
    a language, tokenizer, task and part are compared. The usual ratio of tokens read to those of the row is the median
    of the shortest quarter, less a template's tokens and at most 1; if all prompts are about as long, at least 0.5. A
    prompt was cut if its number is

    - on a plateau: the same for five rows or more whose prompts differ, and for half of all that are as long or longer;
    - or below 0.9 of the usual, and no prompt of the same language that is as long or longer was read in full, so that
      it is not a cache that left out tokens.

    Numbers below 256 never count.
    """
    import polars as pl

    if not {"prompt_tokens", "prompt_tokens_read"} <= {*frame.columns}:
        return pl.Series("shortened", [False]).new_from_index(0, frame.height)
    own, read = pl.col("own"), pl.col("prompt_tokens_read")
    server, alike, same = ["language", "tokenizer"], ["language", "tokenizer", "task", "part"], "prompt_tokens_read"
    plateau, low, usual = pl.col("plateau"), pl.col("low"), pl.col("usual")
    counted = pl.when((read > 0) & (pl.col("prompt_tokens") > 0)).then("prompt_tokens")
    table = frame.select(*alike, read, counted.alias("own")).with_columns(
        own.rank("max", descending=True).over(server).alias("longer"),
        own.quantile(0.25).over(alike).alias("short"),
        own.count().over(*server, same).alias("rows"),
        (own.max() - own.min()).over(*server, same).alias("span"),
    )
    # The same number read of prompts that differ.
    level = (read >= _LEAST) & (pl.col("rows") >= _PLATEAU_ROWS) & (pl.col("span") >= _PLATEAU_SPAN)
    is_plateau = level & (2 * pl.col("rows") >= pl.col("longer").max().over(*server, same))
    table = table.with_columns(is_plateau.alias("plateau"))
    of_short = ((read - _TEMPLATE) / own).filter(~plateau & (own >= _LEAST) & (own <= pl.col("short")))
    table = table.with_columns(of_short.median().over(alike).clip(upper_bound=1.0).alias("usual"))
    # Without shorter prompts to compare with, all may be cut.
    one_length = own.max().over(alike) < 2 * pl.col("short")
    expected = pl.when(one_length).then(usual.clip(lower_bound=_LEAST_RATIO)).otherwise(usual) * own
    table = table.with_columns((read < _USUAL_SHARE * expected).alias("low"))
    in_full = own.filter(~low & ~plateau).max().over(server).fill_null(0)
    is_cut = plateau | ((read >= _LEAST) & low & (level | (own > in_full)))
    return table.select(is_cut.fill_null(False).alias("shortened")).to_series()


def cap_of(frame: pl.DataFrame, cut: pl.Series) -> int | None:
    """The most tokens that the server read of a prompt that it cut; None if it cut none. `cut`: what `shortened` says.

    Ollama keeps half of its window, so the window may be twice as large.
    """
    most = frame.filter(cut)["prompt_tokens_read"].max() if cut.any() else None
    return most if isinstance(most, int) else None


def with_shortened(frame: pl.DataFrame, cut: pl.Series) -> pl.DataFrame:
    """Scores with the finding `prompt_shortened` for wrong answers to prompts that were cut, except of controls.

    The numbers of controls follow from how their answers end, and a finding changes no number.
    """
    import polars as pl

    wrong = pl.col("finding").is_in(_EXPLAINED) & (pl.col("score").fill_null(0.0) < 100.0) & pl.col("control").is_null()
    finding = pl.when(wrong & cut).then(pl.lit(SHORTENED)).otherwise(pl.col("finding"))
    return frame.with_columns(finding.alias("finding")) if cut.any() else frame


def shortening(frame: pl.DataFrame, cut: pl.Series) -> str | None:
    """One sentence on the prompts that were cut: how many rows, from which length on, and what to do; None if none."""
    import polars as pl

    if (cap := cap_of(frame, cut)) is None:
        return None
    rows = frame.filter(cut)
    count, length = rows["id"].n_unique(), rows.select(pl.coalesce("length", "prompt_tokens").min()).item()
    return (
        f"the server read only a part of {count:,} prompt{'s' * (count > 1)}, from a length of {length:,} tokens on: "
        f"at most {cap:,} tokens of each; give it a larger context window (num_ctx, --max-model-len, --context-length, "
        "-c), and ask these rows again"
    )
