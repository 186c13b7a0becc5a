"""Names the likeliest faults behind a run's wrong answers: how a prompt was cut, how answers were mixed up, what is
confused; with the evidence, and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from niah_score.diagnosis.answers import (
    Mates,
    OtherAnswers,
    babbles,
    has_markers,
    is_unread,
    mates_of,
    near_names,
    of_same_thing,
    shifted,
)
from niah_score.diagnosis.positions import (
    CLIFF,
    GAIN,
    Fall,
    Places,
    Region,
    dispersion,
    fall_of,
    in_blocks,
    lost_region,
)
from niah_score.scoring.findings import SHORTENED
from niah_score.scoring.usage import cap_of
from niah_score.statistics.intervals import Floats, Mask

if TYPE_CHECKING:
    import polars as pl

    from niah_score.join.rows import Rows

# What a diagnosis needs of a dataset's rows.
_COLUMNS = ("id", "task", "part", "language", "needle_id", "haystack_id", "length", "depth_percent", "question")
_TRUTH = ("answers", "keywords", "decoys", "needles")
# Rows beyond these are left out, by whole contexts.
_MOST_ROWS = 20_000
# Wrong answers, and their share of all, that are worth a name.
FEWEST, _SMALLEST = 10, 0.01
# A fault with surer evidence is named first, unless it explains less than this share of what another one does.
_ENOUGH = 0.25
# Families whose questions need several records, or what became of them.
COMBINED = ("moves", "threads", "lists", "tally")
_OVERRUN = ("truncated", "think_unclosed")


@dataclass(frozen=True, slots=True)
class Fault:
    """A likely fault: its name; how many of the `wrong` answers it explains; the evidence, and what to do about it."""

    fault: str
    explains: int
    wrong: int
    evidence: str
    advice: str


def truth_of(rows: Rows) -> pl.DataFrame:
    """The rows of a dataset as a diagnosis needs them, in its order; of very many, those of some contexts."""
    import polars as pl

    table = rows.table.sort("order").select(*_COLUMNS, "target")
    if table.height > _MOST_ROWS:
        context = pl.coalesce("haystack_id", "id")
        contexts = table.select(context).to_series().unique(maintain_order=True)
        table = table.filter(context.is_in(contexts.gather_every(table.height // _MOST_ROWS + 1).implode()))
    return pl.concat([table, rows.targets.select(_TRUTH)[table["target"]]], how="horizontal").drop("target")


def diagnose(scores: pl.DataFrame, truth: pl.DataFrame) -> list[Fault]:
    """The likeliest faults of a run, the likeliest first; empty if none explains its wrong answers.

    `scores`: a line for each row that counts, as in scores.parquet. `truth`: what `truth_of` gives for the dataset.
    """
    run = _Run(scores, truth)
    if run.wrong.sum() < FEWEST:
        return []
    ranked: list[Fault] = []
    for looks in _LOOKS:
        faults = filter(None, (look(run) for look in looks))
        ranked += sorted(faults, key=lambda fault: -fault.explains)
    most = max((fault.explains for fault in ranked), default=0)
    return sorted(ranked, key=lambda fault: fault.explains < _ENOUGH * most)


class _Run:
    """The rows of a run that have an answer, in the order of the dataset, as arrays."""

    def __init__(self, scores: pl.DataFrame, truth: pl.DataFrame) -> None:
        import polars as pl

        self.cut_to = cap_of(scores, scores["finding"].eq_missing(SHORTENED))
        # Whether most answers say how many tokens were read.
        read = scores.get_column("prompt_tokens_read", default=None)
        self.is_counted = read is not None and 2 * read.null_count() < scores.height
        said = scores.select("id", "prediction", "reasoning", "status", "finding", "score")
        frame = truth.join(said, on="id", how="inner", maintain_order="left")
        judged = pl.col("score").is_not_null() & ~pl.col("status").is_in(["missing", "error"])
        frame = frame.filter(judged)
        # How many rows each one stands for, if only some contexts are looked at.
        self.stands_for = scores.select(judged.sum()).item() / max(frame.height, 1)
        self.frame = frame
        # The needles of all rows take long to read, and hardly any are needed.
        self.rows = frame.drop("needles").rows(named=True)
        self.right = frame["score"].fill_nan(0.0).to_numpy() / 100.0
        self.wrong = self.right < 0.5
        self.task = frame["task"].fill_null("").to_numpy()
        self.finding = frame["finding"].fill_null("").to_numpy()
        self.status = frame["status"].to_numpy()
        self.has_length = (frame["length"].fill_null(0) > 0).to_numpy()
        # Rows that the text does not answer say nothing of what was seen.
        self.told = frame["keywords"].list.len().fill_null(0).to_numpy() > 0
        self.marked = np.array([has_markers(row) for row in self.rows], dtype=bool)
        self.unread = np.zeros(len(self.rows), dtype=bool)
        places = np.flatnonzero(self.wrong & self.told & ~np.isin(self.status, _OVERRUN))
        self.unread[places] = [is_unread(self.rows[place]) for place in places]
        thought = ((frame["status"] == "empty") & (frame["reasoning"].fill_null("") != "")).to_numpy()
        self.overrun = (np.isin(self.status, _OVERRUN) | thought) & ~self.marked & ~self.unread
        self.overrun &= ~np.array([babbles(row) for row in self.rows], dtype=bool)

    @cached_property
    def placed(self) -> tuple[Mask, Places] | None:
        """The rows with one deciding fact, and where it stands; None if there are few, or all stand alike."""
        kept = self.frame["depth_percent"].is_not_null().to_numpy() & self.told & ~self.overrun & self.has_length
        return (kept, self.places_of(kept)) if kept.sum() >= 4 * FEWEST else None

    def places_of(self, kept: Mask) -> Places:
        """The lengths, contexts and strata of some rows, and where the facts of those that have a single one stand."""
        import polars as pl

        part = self.frame.filter(pl.Series(kept))
        length = part["length"].cast(pl.Float64).to_numpy()
        start = part["depth_percent"].to_numpy() / 100.0 * length
        codes = [
            part.select(name.rank("dense").cast(pl.Int64) - 1)
            for name in (
                pl.concat_str(pl.col("part", "task", "language").fill_null(""), separator="\0"),
                pl.coalesce("haystack_id", "id"),
            )
        ]
        stratum, context = (code.to_series().to_numpy() for code in codes)
        return Places(self.right[kept], start, length - start, length, stratum, context)

    @cached_property
    def mates(self) -> Mates:
        """The rows whose questions are alike."""
        return mates_of(self.rows)

    @cached_property
    def fitted(self) -> Region | None:
        """The region where fewer facts are found than elsewhere."""
        return lost_region(self.placed[1]) if self.placed else None

    @cached_property
    def one_and_several(self) -> tuple[Mask, Mask]:
        """The rows whose answer stands in one place, and those that follow from several facts.

        What one of several records says, as of moves, is neither: if others are lost, it is taken for the last word.
        """
        judged = self.told & ~self.overrun & self.has_length
        placed = self.frame["depth_percent"].is_not_null().to_numpy()
        return judged & placed & ~np.isin(self.task, COMBINED), judged & np.isin(self.task, COMBINED[1:])

    @cached_property
    def fall(self) -> Fall | None:
        """How fewer answers are right in longer prompts; None if there are too few rows of either kind."""
        one, several = self.one_and_several
        if min((self.wrong & one).sum(), several.sum() / 4) < FEWEST:
            return None
        both = one | several
        return fall_of(self.places_of(both), several[both])

    @property
    def is_partial(self) -> bool:
        """Whether fewer facts are found beyond a length, but not none: blocks are lost, or the model gets worse."""
        return self.fitted is not None and self.fitted.fault == "cliff" and self.fitted.kept > CLIFF

    def fault(self, name: str, explained: Mask | float, evidence: str) -> Fault | None:
        """A fault that explains some wrong answers; None if these are too few to be worth a name."""
        explains = round(float(explained if isinstance(explained, float) else (explained & self.wrong).sum()))
        wrong = int(self.wrong.sum())
        explains = min(explains, wrong)
        if explains < max(FEWEST, _SMALLEST * len(self.wrong)):
            return None
        explains, wrong = (round(self.stands_for * count) for count in (explains, wrong))
        return Fault(name, explains, wrong, evidence, _ADVICE[name])


def _overrun(run: _Run) -> Fault | None:
    share = _percent(run.overrun)
    return run.fault("overrun", run.overrun, f"{share} of the answers end at a limit, or in reasoning that never ends")


def _template(run: _Run) -> Fault | None:
    marked = run.marked
    evidence = f"{_percent(marked)} of all answers hold special tokens or other turns, repeat the question or run on"
    return run.fault("template", marked, evidence)


def _unreadable(run: _Run) -> Fault | None:
    evidence = "they spell the right answer, and no other, in a form that is not read"
    return run.fault("unreadable", run.unread, evidence)


def _mixed_up(run: _Run) -> Fault | None:
    others = OtherAnswers(run.rows)
    wrong = run.wrong & ~run.overrun
    foreign = np.zeros(len(wrong), dtype=bool)
    foreign[wrong] = [others.is_of_another(run.rows[place]) for place in np.flatnonzero(wrong)]
    moved = shifted(run.rows, wrong, run.mates)
    evidence = f"{_of(foreign | moved, run.wrong)} are the answer to another row of the run"
    if moved.any():
        evidence += f", {moved.sum():,} of them that of the row before or after"
    return run.fault("mixed-up", foreign | moved, evidence)


def _lost(run: _Run) -> Fault | None:
    region = run.fitted
    if run.placed is None or region is None or run.is_partial:
        return None
    kept, _ = run.placed
    # Rows without one deciding fact are wrong for the same reason as often.
    scale = run.wrong.sum() / max(run.wrong[kept].sum(), 1)
    found = "are hardly ever found" if region.kept < 0.05 else f"are found {region.kept:.2f} times as often as others"
    edges = {
        ("front-lost", "tokens"): f"facts more than {region.last:,.0f} tokens before the end {found}",
        ("front-lost", "percent"): f"facts in the first {region.last:.0f} % of the depth {found}",
        ("end-lost", "tokens"): f"facts more than {region.first:,.0f} tokens after the start {found}",
        ("end-lost", "percent"): f"facts in the last {100 - region.first:.0f} % of the depth {found}",
        ("middle-lost", "tokens"): f"facts more than {region.first:,.0f} tokens after the start and "
        f"{region.last:,.0f} before the end {found}",
        ("middle-lost", "percent"): f"facts between {region.first:.0f} and {region.last:.0f} % of the depth {found}",
        ("cliff", "length"): f"beyond a length of {region.first:,.0f} tokens, facts at all depths {found}",
    }
    evidence, fault = edges[region.fault, region.unit], region.fault
    if fault == "cliff" and (run.finding[kept][region.hidden & run.wrong[kept]] == SHORTENED).mean() > 0.8:
        # The question stands at the end.
        fault, evidence = "end-lost", "what is asked at the end of long prompts is not answered"
    if run.cut_to is not None:
        evidence += f"; the server read at most {run.cut_to:,} tokens of such prompts: it cut them"
    elif run.is_counted and fault != "cliff":
        evidence += "; no cut shows in the tokens that the server read, so it may be a window or a cache"
    return run.fault(fault, region.explained * scale, evidence)


def _language(run: _Run) -> Fault | None:
    import polars as pl

    frame = run.frame.with_columns(pl.Series("right", run.right)).filter(pl.Series(~run.overrun))
    of_worlds = frame.group_by("language", "needle_id", maintain_order=True).agg(
        pl.col("right").mean(), pl.len().alias("rows")
    )
    mean, error = pl.col("right").mean().alias("mean"), (pl.col("right").var() / pl.len()).alias("error")
    of_languages = of_worlds.group_by("language", maintain_order=True).agg(
        mean, error, pl.len().alias("worlds"), pl.col("rows").sum()
    )
    of_languages = of_languages.filter(pl.col("worlds") > 2).sort("mean", "language").drop("worlds")
    if of_languages.height < 2:
        return None
    (name, low, low_error, rows), (_, usual, usual_error, _) = of_languages.rows()[:2]
    if low > 0.8 * usual or usual - low < 4.0 * (low_error + usual_error) ** 0.5:
        return None
    evidence = f"{100 * low:.0f} % of the answers about texts in {name} are right, {100 * usual:.0f} % of others"
    return run.fault("language", (usual - low) * rows, evidence)


def _near_names(run: _Run) -> Fault | None:
    wrong = run.wrong & run.told & ~run.overrun
    fits, chance = near_names(run.rows, wrong, run.mates, run.frame["needles"].fill_null([]))
    tried = chance > 0
    if not tried.any():
        return None
    # A share of the answers is of the other thing, and what is left names rivals at random.
    shares = np.linspace(0, 1, 101)[:, None]
    named = np.clip(shares + (1 - shares) * chance[tried], 1e-6, 1 - 1e-6)
    likelihood = np.where(fits[tried], np.log(named), np.log(1 - named)).sum(axis=1)
    best = int(np.argmax(likelihood))
    worlds = run.frame["needle_id"].fill_null("").rank("dense").to_numpy()[tried].astype(np.int64)
    spread = dispersion(named[best], fits[tried].astype(np.float64), worlds)
    if likelihood[best] - likelihood[0] < GAIN * spread:
        return None
    evidence = f"{_of(fits, tried)} to questions asked of two things are of the other one; by chance {chance.sum():.0f}"
    return run.fault("near-names", float(shares[best, 0] * tried.sum()), evidence)


def _combined(run: _Run) -> Fault | None:
    import polars as pl

    judged = run.told & ~run.overrun
    if run.fall and run.fall.gain > GAIN:
        # Who has lost a record takes the one before it for the last word.
        judged &= run.frame["length"].fill_null(0).to_numpy() <= run.fall.whole
    one, several = judged & ~np.isin(run.task, COMBINED), judged & np.isin(run.task, COMBINED)
    if min(one.sum(), several.sum()) < 4 * FEWEST:
        return None
    fits, chance = of_same_thing(run.frame.filter(pl.Series(several & run.wrong)).rows(named=True))
    more, error = float((fits - chance).sum()), float((chance * (1 - chance)).sum()) ** 0.5
    if more < max(FEWEST, 4 * error):
        return None
    usual = float(run.right[one].mean())
    means = {name: run.right[several & (run.task == name)].mean() for name in COMBINED if name in run.task[several]}
    low = [name for name, mean in means.items() if mean < 0.9 * usual]
    fewer = float((usual - run.right[several & np.isin(run.task, low)]).sum())
    names = ", ".join(f"{name} {100 * mean:.0f} %" for name, mean in means.items())
    evidence = f"wrong answers say of the right thing what is no longer, or was never, so; right are {names}, "
    evidence += f"of single facts {100 * usual:.0f} %"
    return run.fault("ignores-dates", max(more, fewer), evidence)


def _blocks(run: _Run) -> Fault | None:
    if run.placed is None or (run.fitted is not None and not run.is_partial):
        return None
    one, many = run.one_and_several
    wrong, silent = run.wrong[one], (run.wrong & (run.finding == "said_absent"))[one]
    single, several = _share(run.right[one]), _share(run.right[many])
    reasons = []
    explains = float((run.wrong & (one | many)).sum())
    if (together := in_blocks(run.placed[1])) > 4:
        reasons.append(f"neighbouring facts are lost together ({together:.1f} standard deviations beyond chance)")
    if run.fall and run.fall.gain > GAIN:
        long = (run.fall.found < (1 + run.fall.found.min()) / 2)[one[one | many]]
        if run.fall.power_gain > GAIN / 2 and _apart(silent, long) > 0.4 * _apart(wrong, long) > 0:
            found = f"down to {100 * run.fall.found.min():.0f} % of single facts are found in longer prompts"
            reasons.append(f"{found}, and what several lead to as if {run.fall.power:g} had to be found")
            # Rows that are of neither kind are wrong for the same reason as often.
            explains = run.fall.lost * run.wrong.sum() / explains
    elif run.fall and single < 0.9 and several + 4 * (several * (1 - several) / many.sum()) ** 0.5 < 0.85 * single:
        share = silent.sum() / wrong.sum()
        if share > 0.25 + 3 * (share * (1 - share) / wrong.sum()) ** 0.5:
            percents = f"{100 * single:.0f} % of single facts are found, and {100 * several:.0f} %"
            reasons.append(f"{percents} that several lead to")
    if not reasons:
        return None
    if wrong.any():
        reasons.insert(0, f"{_percent(silent[wrong])} of the wrong answers to single facts say that none is stated")
    return run.fault("blocks-lost", explains, "; ".join(reasons))


def _apart(what: Mask, those: Mask) -> float:
    """How much larger a share is among those rows than among the others; 0 if one of both has none."""
    return float(what[those].mean() - what[~those].mean()) if those.any() and not those.all() else 0.0


def _share(values: Floats | Mask) -> float:
    """The mean of some values; 1 for none."""
    return float(values.mean()) if len(values) else 1.0


def _percent(mask: Mask) -> str:
    return f"{100 * _share(mask):.0f} %"


def _of(mask: Mask, among: Mask) -> str:
    return f"{(mask & among).sum():,} of {among.sum():,} wrong answers"


# What texts show comes first, then where facts are lost, then what is confused.
_LOOKS: tuple[tuple[Callable[[_Run], Fault | None], ...], ...] = (
    (_overrun, _template, _unreadable, _mixed_up),
    (_lost, _language),
    (_near_names,),
    (_blocks,),
    (_combined,),
)
FAULTS: dict[str, str] = {
    "front-lost": "the front of the prompt is lost",
    "end-lost": "the end of the prompt is lost",
    "middle-lost": "the middle of the prompt is lost",
    "blocks-lost": "scattered blocks of the prompt are lost",
    "cliff": "nothing is found beyond a length",
    "mixed-up": "answers belong to other rows",
    "template": "the chat template is wrong or missing",
    "overrun": "the output limit is too low, or thinking never ends",
    "near-names": "things with near-equal names are confused",
    "ignores-dates": "dates, relations or cancellations are ignored",
    "language": "one language is broken",
    "unreadable": "right answers have a form that is not read",
}
_ADVICE: dict[str, str] = {
    "front-lost": "look for a limit of the context (num_ctx, max_model_len, truncation at the left), or a window",
    "end-lost": "look for a limit that cuts from the right (truncation, a proxy, a tokenizer's model_max_length)",
    "middle-lost": "look for truncation of the middle, or attention sinks with a window (StreamingLLM)",
    "blocks-lost": "look at the KV cache: eviction, compression, quantised or swapped blocks; run once with it off",
    "cliff": "compare the length with the model's trained positions, RoPE scaling and max_position_embeddings",
    "mixed-up": "join by id, and look for mixed requests: batching, prefix caches, an order that was assumed",
    "template": "send messages instead of a text, or apply the model's own chat template; look at its stop tokens",
    "overrun": "raise the output limit (max_tokens), or lower the reasoning effort",
    "near-names": "no fault of the server is needed for this: the model, or its quantised cache, confuses names",
    "ignores-dates": "no fault of the server is needed for this: the model finds facts, and does not combine them",
    "language": "look at the tokenizer, the sampling penalties and the quantisation's calibration for this language",
    "unreadable": "look at such answers in report.html; extract the answer, or ask for it in plain words",
}


def title_of(fault: Fault) -> str:
    """What a fault is; its name if a later release found it."""
    return FAULTS.get(fault.fault, fault.fault)


def fault_lines(faults: Sequence[Fault]) -> Iterator[str]:
    """What stands beside the scores: the three likeliest faults."""
    for fault in faults[:3]:
        share = f"{fault.explains:,} of {fault.wrong:,} wrong answers"
        yield f"{title_of(fault)} ({share}): {fault.evidence}"
