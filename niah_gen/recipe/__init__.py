"""Reads what a user asks for: recipes, presets, schedules of lengths and depths.

May import tasks and the rooms above it.
"""
