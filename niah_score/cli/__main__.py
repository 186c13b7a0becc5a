"""Runs `niah-score` as `python -m niah_score.cli`."""

from niah_score.cli.main import main

main()
