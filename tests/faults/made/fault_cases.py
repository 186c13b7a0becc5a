"""The commands that write, each with what its disk holds beforehand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from fault_bench import Case, Server

_SET = (
    "plain", "--set", "name=small", "--length", "600,900", "--depths", "0,100", "--language", "en", "--repeats", "1",
    "--corpus", "inputs/notes",
)  # fmt: skip
_BUILD = ("niah-gen", "build", *_SET, "--out", "disk")
_FORMATS = ("--format", "parquet,jsonl")
# Long enough to be killed in the middle.
MANY = (
    "plain", "--set", "name=many", "--length", "1k,2k,4k,8k", "--depths", "0,50,100", "--language", "en",
    "--repeats", "3", "--corpus", "inputs/notes", "--allow-repeats",
)  # fmt: skip
_EXPORTS: dict[str, tuple[str, ...]] = {
    "openai-batch": ("--model", "m", "--max-requests", "5"), "vllm": ("--model", "m"), "text": (), "langsmith": (),
    "lm-eval": (), "inspect": (), "lighteval": (), "opencompass": (), "opencompass-length-depth": (),
    "loglikelihood": (), "anthropic": ("--model", "m"), "gemini": (), "vertex": (), "openai-sessions": (),
    "verifiers": ("--context-file",),
}  # fmt: skip
NAMES = (
    "build", "build two formats", "build resumed", "build with another format", "build with Parquet beside JSONL",
    "build over damage", "build with workers", "build a shard", "merge", "card", "page", "recount", "tokenizers",
    *(f"export {form}" for form in _EXPORTS), "export over an export", "corpora add", "score",
    "score over scores", "report", "plot", "compare", "gate", "judge export", "judge import",
    "perplexity", "gain",
)  # fmt: skip


class Inputs:
    """What commands read, beside the disk: a corpus, datasets, answers, scores, log-probabilities."""

    def __init__(self, running: Server, place: Path) -> None:
        self._server, self.place, self.folder = running, place, place / "inputs"
        self.folder.mkdir(parents=True)
        notes = self.folder / "notes"
        notes.mkdir()
        text = "".join(
            f"Tale {n} was told by a man of {n} years. It had an end! Was it good? It was. " for n in range(80)
        )
        (notes / "a.txt").write_text(text)
        self.dataset = self._build("dataset", *_SET, *_FORMATS)
        self.chat = self._build("chat", *_SET, "--set", "name=chat", "--chat", "--template", "gkamradt-openai")
        self.windows = self._build(
            "windows", "perplexity", "--set", "name=windows", "--length", "200", "--corpus", "inputs/notes",
            "--language", "en", "--set", "options.tokens=200", "--set", "options.documents=1",
        )  # fmt: skip
        rows = [
            json.loads(line) for file in sorted((place / self.dataset).rglob("test-*.jsonl")) for line in file.open()
        ]
        for name, wrong in (("one", 0), ("two", 1)):
            lines = [
                {"id": row["id"], "prediction": "No idea." if n % 3 < wrong else row["answers"][0]}
                for n, row in enumerate(rows)
            ]
            self._write(f"{name}.jsonl", lines)
            self.run("niah-score", "score", self.dataset, f"inputs/{name}.jsonl", "--out", f"inputs/scores-{name}")
        self._log_probs()
        sums = [
            {"id": row["id"], "condition": condition, "logprob_sum": -1.0, "token_count": 2}
            for row in rows
            for condition in ("full", "alone", "needle")
        ]
        self._write("gains.jsonl", sums)
        self._write("verdicts.jsonl", [{"id": row["id"], "prediction": "Score: 7"} for row in rows])

    def _build(self, name: str, *flags: str) -> Path:
        out = self.run("niah-gen", "build", *flags, "--out", f"inputs/{name}")
        return Path(out.splitlines()[-1])

    def run(self, program: str, *arguments: object) -> str:
        """Run a command that must succeed, beside the inputs; returns what it prints."""
        (done,) = self._server.run([program, *map(str, arguments)], self.place, self.folder / "nowhere")
        assert done.code == 0, (program, arguments, done)
        return done.out

    def _log_probs(self) -> None:
        import pyarrow.parquet as pq

        from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer

        tokenizer = find_tokenizer("cl100k_base")
        assert isinstance(tokenizer, BytePairTokenizer)
        with (self.folder / "logprobs.jsonl").open("w") as file:
            for data in sorted((self.place / self.windows).rglob("data/**/*.parquet")):
                for row in pq.ParquetFile(data).read().to_pylist():
                    count = len(tokenizer.encoding.encode_ordinary(row["prompt"]))
                    line = {"id": row["id"], "token_logprobs": [None, *[-1.5] * (count - 1)]}
                    file.write(json.dumps(line) + "\n")

    def _write(self, name: str, lines: Sequence[dict[str, object]]) -> None:
        (self.folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _copied(source: Path, name: str) -> Callable[[Path], None]:
    """A disk that holds a copy of a folder."""

    def prepare(disk: Path) -> None:
        shutil.copytree(source, disk / name)

    return prepare


def _dataset_of(disk: Path) -> Path:
    return next(path for path in (disk / "small").iterdir() if not path.name.endswith(".partial"))


def refused_by_verify(disk: Path) -> str | None:
    """What `verify` finds wrong with a dataset, or what refuses its folder."""
    from niah_gen.checks.hashes import verify
    from niah_score.contract import ContractError

    try:
        _, problems = verify(_dataset_of(disk))
    except (ContractError, StopIteration) as error:
        return str(error) or "no dataset"
    return "; ".join(problems) or None


def _refused_scores(name: str, disk: Path) -> str | None:
    from niah_score.errors import ScoreError
    from niah_score.report.read import read

    try:
        read(disk / name)
    except ScoreError as error:
        return str(error)
    return None


def cases(inputs: Inputs) -> list[Case]:
    """Every command that writes."""
    built = inputs.place / inputs.dataset
    relative = str(inputs.dataset)

    def dataset(disk: Path, *, formats: Sequence[str] = ("parquet",), damaged: bool = False) -> None:
        flags = ("--format", ",".join(formats))
        inputs.run("niah-gen", "build", *_SET, *flags, "--out", disk)
        if damaged:
            for path in sorted(disk.rglob("test-*.parquet"))[:1]:
                path.write_bytes(path.read_bytes()[:-9] + b"otherwise")

    def resumed(disk: Path) -> None:
        """A build that was killed once its first record was written."""
        inputs.run("niah-gen", "build", *_SET, "--shard", "1/2", "--out", disk)

    def shards(disk: Path) -> None:
        for part in (1, 2):
            inputs.run("niah-gen", "build", *_SET, "--shard", f"{part}/2", "--out", disk)

    def with_corpus(disk: Path) -> None:
        (disk / "niah" / "corpora").mkdir(parents=True)

    partial = f"disk/small/{inputs.dataset.name}.partial"
    built_name = f"disk/small/{inputs.dataset.name}"
    collected = [
        Case("build", _BUILD, refused=refused_by_verify),
        Case("build two formats", (*_BUILD, *_FORMATS), refused=refused_by_verify),
        Case("build resumed", _BUILD, resumed, refused=refused_by_verify),
        Case("build with another format", (*_BUILD, "--format", "jsonl"), dataset, refused=refused_by_verify),
        Case(
            "build with Parquet beside JSONL", _BUILD, lambda disk: dataset(disk, formats=("jsonl",)),
            refused=refused_by_verify,
        ),
        Case("build over damage", _BUILD, lambda disk: dataset(disk, damaged=True), refused=refused_by_verify),
        Case("build with workers", (*_BUILD, "--jobs", "2"), refused=refused_by_verify),
        Case("build a shard", (*_BUILD, "--shard", "1/2"), leaves=True),
        Case("merge", ("niah-gen", "merge", partial), shards, refused=refused_by_verify, twice=2),
        Case("card", ("niah-gen", "card", built_name), dataset,
             refused=refused_by_verify),
        Case("page", ("niah-gen", "page", relative, "--out", "disk/page.html"), twice=2),
        Case("recount", ("niah-gen", "recount", relative, "--tokenizer", "o200k_base", "--csv", "disk/counts.csv")),
        Case("tokenizers", ("niah-gen", "tokenizers", "--tiktoken-cache", "disk/cache"), apart=True),
    ]  # fmt: skip
    for form, flags in _EXPORTS.items():
        command = ("niah-gen", "export", relative, "--to", form, "--out", "disk/out", *flags)
        collected.append(Case(f"export {form}", command, twice=2))
    export = ("niah-gen", "export", relative, "--to", "openai-batch", "--model", "m", "--out", "disk/out")

    def exported(disk: Path) -> None:
        inputs.run(*export[:-1], disk / "out", "--max-requests", "5")

    collected.append(Case("export over an export", (*export, "--max-requests", "7", "--overwrite"), exported))
    corpora = {"XDG_DATA_HOME": str(inputs.place / "disk")}
    collected.append(
        Case("corpora add", ("niah-gen", "corpora", "add", "tales", "inputs/notes", "--language", "en"), with_corpus,
             environment=corpora, twice=2)
    )  # fmt: skip
    return [*collected, *_scorer_cases(inputs, built)]


def _scorer_cases(inputs: Inputs, built: Path) -> list[Case]:
    scores = inputs.folder / "scores-two"
    relative = str(inputs.dataset)
    score = ("niah-score", "score", relative, "inputs/one.jsonl", "--out", "disk/scores")
    refused = partial(_refused_scores, "scores")
    judge = ("niah-score", "judge")
    return [
        Case("score", score, refused=refused, twice=2),
        Case("score over scores", (*score, "--overwrite"), _copied(scores, "scores"), refused),
        Case(
            "report", ("niah-score", "report", "disk/scores", "--dataset", relative), _copied(scores, "scores"),
            refused,
        ),
        Case("plot", ("niah-score", "plot", "inputs/scores-one", "inputs/scores-two", "--out", "disk/plots"), twice=2),
        Case(
            "compare", ("niah-score", "compare", "inputs/scores-one", "inputs/scores-two", "--out", "disk/compared"),
            twice=2,
        ),
        Case("gate", ("niah-score", "gate", "inputs/scores-two", "inputs/scores-one", "--junit", "disk/gate.xml")),
        Case("judge export", (*judge, "export", relative, "inputs/scores-one", "--out", "disk/judge", "--model", "m"),
             twice=2),
        Case("judge import", (*judge, "import", relative, "inputs/scores-one", "inputs/verdicts.jsonl", "--out",
                              "disk/scores"), refused=refused, twice=2),
        Case("perplexity", ("niah-score", "perplexity", str(inputs.windows), "inputs/logprobs.jsonl", "--out",
                            "disk/scores"),
             twice=2),
        Case("gain", ("niah-score", "gain", relative, "inputs/gains.jsonl", "--missing", "exclude", "--out",
                      "disk/scores"), twice=2),
    ]  # fmt: skip
