"""Measures how much of a dataset is solved by a search that sees only the context and the question.

    python tests/benchmarks/searched_context.py DATASET

The columns are `BM25` and `5 hops` of gates.py, but without the instructions: if these explain what the question asks
for, they share more words with it than any fact does, and a search over the whole prompt finds them. Points are by
part and language, each row judged by its own metric; controls are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean

from gates import SEARCHES, Row, by_group, rows_of

from examples.lexical_retriever import answer
from niah_gen.prompts.templates import CONTEXT, QUESTION, named_template
from niah_score import Judge


def context_of(row: Row) -> str:
    """The text in the context slot of a row's template, which must be one of the package's."""
    prompt = row["prompt"]
    template = named_template(row["template"])
    assert template is not None, row["template"]
    wording = next(iter(template.wordings.values()))
    if isinstance(prompt, str):
        content, (message,) = prompt, wording.messages("text")
    else:
        content, message = prompt[row["context_message"]]["content"], wording.messages("chat")[row["context_message"]]
    before, after = message["content"].replace(QUESTION, row["question"]).split(CONTEXT)
    assert content.startswith(before)
    assert content.endswith(after)
    return str(content[len(before) : len(content) - len(after)])


def main() -> None:
    """Print the table of a dataset."""
    parser = argparse.ArgumentParser(description="Search the contexts of a dataset for its questions.")
    parser.add_argument("dataset", type=Path)
    dataset = parser.parse_args().dataset
    judge = Judge(dataset)
    print(f"| part | language | rows | {' | '.join(SEARCHES)} |")
    print(f"|---|---|---:|{'---:|' * len(SEARCHES)}")
    for (part, language), rows in by_group(rows_of(dataset)).items():
        means = []
        for hops in SEARCHES.values():
            answers = {
                row["id"]: answer(f"{context_of(row)}\n\nQuestion: {row['question']}", hops=hops) for row in rows
            }
            means.append(fmean(judge(name, text).score or 0.0 for name, text in answers.items()))
        print(f"| {part} | {language} | {len(rows)} | {' | '.join(f'{mean:.1f}' for mean in means)} |")


if __name__ == "__main__":
    main()
