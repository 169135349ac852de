"""Duplicate matches, mixed tables and tournaments, and statistics of their hands."""
