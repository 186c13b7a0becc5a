"""Shows that the tests can fail: breaks a copy of the code in forty ways, and names the test that notices each.

    .venv/bin/python tests/faults_by_hand.py            every fault (hours, if many survive the tests of their room)
    .venv/bin/python tests/faults_by_hand.py --list     what they are
    .venv/bin/python tests/faults_by_hand.py --only 3 7 some of them

For each fault the fast tests of the room that the file is in are tried first, then all other fast tests, then the slow
ones. A test that fails without the fault, too, is left out. The working tree is not touched.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FAST, SLOW = "not slow and not soak", "slow and not soak"


class Fault(NamedTuple):
    """In `file`, `old`, which occurs once, becomes `new`. `breaks`: what is then wrong."""

    breaks: str
    file: str
    old: str
    new: str


FAULTS = (
    Fault(
        "a needle stands one place before the one nearest to its depth",
        "niah_gen/haystacks/placement.py",
        "np.searchsorted((before[:-1] + before[1:]) / 2, tokens)",
        "np.maximum(0, np.searchsorted((before[:-1] + before[1:]) / 2, tokens) - 1)",
    ),
    Fault(
        "needles between tokens stand one token late",
        "niah_gen/haystacks/placement.py",
        "cut = part.start + inside",
        "cut = min(part.end, part.start + inside + 1)",
    ),
    Fault(
        "a needle is put in twice",
        "niah_gen/haystacks/placement.py",
        "edits.append(Edit(point, point, joiner + needle",
        "edits.append(Edit(point, point, joiner + needle + joiner + needle",
    ),
    Fault(
        "a needle that the filler holds already is hidden a second time",
        "niah_gen/tasks/hiding.py",
        "text in filler or text in beside",
        "text in beside",
    ),
    Fault(
        "the last depth of a schedule is one step early",
        "niah_gen/recipe/recipe.py",
        "for number in range(steps - 1)] + [last]",
        "for number in range(steps - 1)] + [last - step]",
    ),
    Fault(
        "the messages beside the context are not counted: a chat exceeds its budget",
        "niah_gen/haystacks/haystack.py",
        "(frame.before, frame.after, *frame.others)",
        "(frame.before, frame.after)",
    ),
    Fault(
        "the decoys of a row are its keywords: a swapped column",
        "niah_gen/rows/assemble.py",
        "decoys=[list(group) for group in shown.decoys]",
        "decoys=[list(group) for group in shown.keywords]",
    ),
    Fault(
        "a row's digest leaves out its prompt",
        "niah_score/contract/rows.py",
        "b'\"prompt\":' + _prompt_json(row[\"prompt\"]) + after",
        "b'\"prompt\":' + after",
    ),
    Fault(
        "an id does not change with the keywords of its row",
        "niah_gen/rows/ids.py",
        'row["question"], row["answers"], row["keywords"]]',
        'row["question"], row["answers"]]',
    ),
    Fault(
        "the control of a part asks at every depth, not only at those wanted",
        "niah_gen/rows/grid.py",
        "return everywhere or row.depth in self._control_depths",
        "return True",
    ),
    Fault(
        "the seams of a spliced text are counted as if no token crossed them",
        "niah_gen/tokenizers/counted.py",
        "            window += text[at:start]\n        window += insert",
        "            window += text[at:start]\n        yield window, 0, 0\n        window = insert",
    ),
    Fault(
        "the tokens of a needle lack the last one",
        "niah_gen/tokenizers/counted.py",
        "ranges[start, stop] = total + low, total + high",
        "ranges[start, stop] = total + low, total + high - 1",
    ),
    Fault(
        "all repeats of a passkey hide the same number",
        "niah_gen/tasks/key_values.py",
        "places = np.array([cell.repeat % size_of(slot),",
        "places = np.array([0 % size_of(slot),",
    ),
    Fault(
        "the last row of a shard is lost if it is alone in its group",
        "niah_gen/dataset/shards.py",
        "    if group:\n        yield lines, group",
        "    if len(group) > 1:\n        yield lines, group",
    ),
    Fault(
        "shards of another plan are merged",
        "niah_gen/dataset/complete.py",
        'if not name.endswith(f"-{manifest.digest8}"):',
        "if False:",
    ),
    Fault(
        "the manifest is moved in before the files that it lists: a kill between them leaves half a dataset",
        "niah_gen/dataset/complete.py",
        "        here = [path for path in wanted if (partial / path).is_file()]\n",
        "        here = [path for path in wanted if (partial / path).is_file()]\n"
        "        files.move_file(partial / MANIFEST, final / MANIFEST)\n",
    ),
    Fault(
        "a shard whose files are damaged is merged",
        "niah_gen/dataset/complete.py",
        'return "; ".join(problem for entry in shard.files if (problem := contract.file_problem(partial, entry)))',
        'return ""',
    ),
    Fault(
        "the source of a corpus stands unescaped in the card",
        "niah_gen/dataset/card.py",
        "| {in_markdown(c.license)} | {in_markdown(c.source)} |",
        "| {in_markdown(c.license)} | {c.source} |",
    ),
    Fault(
        "verify overlooks files that the manifest does not list",
        "niah_gen/checks/hashes.py",
        "    problems += _strangers(folder, {*checked, MANIFEST})\n",
        "",
    ),
    Fault(
        "every n-th row is taken from the n-th on, not from the first",
        "niah_gen/export/export.py",
        "sampled = kept[::step]",
        "sampled = kept[step - 1 :: step]",
    ),
    Fault(
        "a system message is sent after the prompt",
        "niah_gen/export/base.py",
        'return [{"role": "system", "content": self.system}, *given]',
        'return [*given, {"role": "system", "content": self.system}]',
    ),
    Fault(
        "a file is intact if its size is: a flipped bit passes",
        "niah_score/contract/dataset.py",
        "return None if sha256 == entry.sha256 else",
        "return None if sha256 else",
    ),
    Fault(
        "the digest of a dataset is of every other row",
        "niah_score/contract/rows.py",
        "for digest in row_digests:",
        "for digest in list(row_digests)[::2]:",
    ),
    Fault(
        "a file is written under its own name: a kill leaves half of it",
        "niah_score/machine/files.py",
        'return path.with_name(f".{path.name}.tmp"), path',
        "return path, path",
    ),
    Fault(
        "the head of a set of files is moved in first: a kill leaves a mix that looks complete",
        "niah_score/machine/files.py",
        "for name in sorted(names, key=lambda name: name == head):",
        "for name in sorted(names, key=lambda name: name != head):",
    ),
    Fault(
        "a lock that another process holds is taken all the same",
        "niah_score/machine/files.py",
        "        lock.acquire()\n",
        "        lock.lock_file\n",
    ),
    Fault(
        "a small file may unpack to any size",
        "niah_score/machine/files.py",
        "unpacked > FREE_BYTES and unpacked > MAX_RATIO * packed",
        "unpacked > 2**60 and unpacked > MAX_RATIO * packed",
    ),
    Fault(
        "a text can end the script element that holds a page's data",
        "niah_score/html/document.py",
        '"[<>&\\u2028\\u2029\\ud800-\\udfff]"',
        '"[&\\u2028\\u2029\\ud800-\\udfff]"',
    ),
    Fault(
        "a name that begins with @ is a formula in a spreadsheet",
        "niah_score/text/visible.py",
        '("=", "+", "-", "@", "\\t", "\\r")',
        '("=", "+", "-", "\\t", "\\r")',
    ),
    Fault(
        "a bar in a name splits a cell of a Markdown table",
        "niah_score/text/visible.py",
        r'r"[\\`*{}\[\]#|~$!^&<>]|',
        r'r"[\\`*{}\[\]#~$!^&<>]|',
    ),
    Fault(
        "a denied fact counts as stated",
        "niah_score/text/voiding.py",
        "    if _is_negated(folded, find):\n        return False\n",
        "",
    ),
    Fault(
        "1,0245 is read as 10245: a comma before more than three digits groups them",
        "niah_score/text/fold.py",
        r"""r",(?<=\d,)(?=\d{3}(?!\d))")""",
        r"""r",(?<=\d,)(?=\d{3})")""",
    ),
    Fault(
        "each time in a text looks at the whole text again: a quadratic reader",
        "niah_score/text/times.py",
        "        fits = candidate.hour <= 24",
        "        fits = sum(claimed) <= len(claimed) and candidate.hour <= 24",
    ),
    Fault(
        "a request that failed counts as an answer",
        "niah_score/formats/batches.py",
        "not 200 <= status < 300",
        "not 200 <= status < 600",
    ),
    Fault(
        "of two answers to a row, the first counts although the last was asked for",
        "niah_score/join/join.py",
        'descending=[False, on_duplicate == "last"]',
        "descending=[False, False]",
    ),
    Fault(
        "answers are joined by length alone, whatever their depth: a join by the wrong key",
        "niah_score/join/coordinates.py",
        'if abs(row["depth_percent"] - cell.depth_percent) < _SAME_DEPTH]',
        "]",
    ),
    Fault(
        "lines that belong to no row count as duplicates, too",
        "niah_score/join/join.py",
        "Lines(read + len(malformed), used, read - used - unknown,",
        "Lines(read + len(malformed), used, read - used,",
    ),
    Fault(
        "the published metric cdme ignores case",
        "niah_score/metrics/opencompass.py",
        "distance = Levenshtein.distance(text, reference)\n",
        "distance = Levenshtein.distance(text.lower(), reference.lower())\n",
    ),
    Fault(
        "the best of several samples is the worst",
        "niah_score/join/samples.py",
        'frame.sort("score", descending=True,',
        'frame.sort("score", descending=False,',
    ),
    Fault(
        "intervals of 95 % cover 90 %: a wrong quantile",
        "niah_score/statistics/intervals.py",
        "tail = (1 - CONFIDENCE) / 2",
        "tail = 1 - CONFIDENCE",
    ),
)  # fmt: skip


def wrong_faults() -> list[str]:
    """The faults whose text does not occur exactly once in their file, or that leave no valid Python."""
    wrong = []
    for fault in FAULTS:
        text = (ROOT / fault.file).read_text("utf-8")
        if text.count(fault.old) != 1:
            wrong.append(f"{fault.file}: {fault.old!r} occurs {text.count(fault.old)} times")
        compile(text.replace(fault.old, fault.new), fault.file, "exec")
    return wrong


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What a copy of the project needs not: environments, caches, and the user's datasets."""
    hidden = {name for name in names if name == "__pycache__" or (name.startswith(".") and name != ".ci")}
    return hidden | ({*names} - {"README.md"} if Path(folder) == ROOT / "build" else set())


class Copy:
    """A copy of the project, in which faults are put and tests run. `broken`: tests that fail without any fault."""

    def __init__(self, folder: Path, workers: str) -> None:
        self.folder = folder
        self.workers = workers
        self.broken: list[str] = []
        shutil.copytree(ROOT, folder, ignore=_left_out)
        self.touched = 0

    def write(self, file: str, text: str) -> None:
        """Replace a file; its new time makes sure that no compiled form of the old text is used."""
        path = self.folder / file
        path.write_text(text, "utf-8")
        self.touched += 10
        seconds = path.stat().st_mtime + self.touched
        os.utime(path, (seconds, seconds))

    def first_failure(self, marks: str, *paths: str, workers: str = "0") -> str | None:
        """The first test that fails among those with these marks; None if all pass."""
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-n", workers,
            "-m", marks, *(f"--deselect={test}" for test in self.broken), *paths,
        ]  # fmt: skip
        environment = {
            **os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(self.folder.parent / "bytecode"),
        }  # fmt: skip
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        if found:
            return found[1]
        if done.returncode not in (0, 5):  # 5: no test has these marks
            raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return None

    def noticed(self, fault: Fault) -> tuple[str, str] | None:
        """The kind of test that notices a fault, and its name; None if none does."""
        whole = (ROOT / fault.file).read_text("utf-8")
        package, *rooms = Path(fault.file).parent.parts
        room = "/".join(("tests", package.removeprefix("niah_"), *rooms))
        # The test that faults fit their files fails with every fault.
        others = [f"--ignore={room}", "--ignore=tests/test_faults_by_hand.py"]
        rounds = [("fast", FAST, [room], "0"), ("fast", FAST, others, self.workers)]
        rounds += [("slow", SLOW, [room], "0"), ("slow", SLOW, others, self.workers)]
        for kind, marks, paths, workers in rounds:
            while True:
                self.write(fault.file, whole.replace(fault.old, fault.new))
                failed = self.first_failure(marks, *paths, workers=workers)
                self.write(fault.file, whole)
                if failed is None:
                    break
                if self.first_failure("not soak", failed) is None:
                    return kind, failed
                if failed in self.broken or "::" not in failed:
                    raise SystemExit(f"{failed} cannot be left out")
                print(f"    left out, as it fails without the fault, too: {failed}", flush=True)
                self.broken.append(failed)
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the faults")
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="try these faults, counted from 1")
    parser.add_argument("--workers", default=str(os.cpu_count() or 1), help="processes for the tests of all rooms")
    options = parser.parse_args()
    if wrong := wrong_faults():
        raise SystemExit("\n".join(wrong))
    if options.list:
        for number, fault in enumerate(FAULTS, 1):
            print(f"{number:2}  {fault.breaks}  ({fault.file})")
        return
    survived = []
    chosen = options.only or range(1, len(FAULTS) + 1)
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder) / "copy", options.workers)
        for number in chosen:
            found = copy.noticed(FAULTS[number - 1])
            survived += [] if found else [number]
            by = ": ".join(found) if found else "NOT NOTICED"
            print(f"{number:2}  {FAULTS[number - 1].breaks}: {by}", flush=True)
    print(f"{len(chosen) - len(survived)} of {len(chosen)} noticed")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
