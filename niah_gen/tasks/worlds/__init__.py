"""Small worlds of records, all of whose cells are asked over one context: a file for each part."""
