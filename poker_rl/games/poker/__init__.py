"""Limit and no-limit poker with two to nine seats: rules, settings, notation and display."""
