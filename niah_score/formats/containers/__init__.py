"""Reads the containers of answers: JSON Lines, JSON documents, CSV, Parquet, zips, compressed streams."""
