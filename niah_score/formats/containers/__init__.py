"""Reads what answer files come in: JSON Lines, JSON documents, CSV, Parquet, zips, compressed streams."""
