"""Runs `niah-gen` as `python -m niah_gen.cli`."""

from niah_gen.cli.main import main

main()
