"""Asks the questions that others wrote about long documents: external question sets, read from a user's file.

`forms` defines the columns of the published sets and words what is asked, `question_file` reads files and single
questions of them, and `family` is the task family with its contexts.
"""
