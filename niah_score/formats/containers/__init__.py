"""Reads the containers of answers: JSON Lines, JSON documents, CSV, Parquet, zips and compressed streams."""
