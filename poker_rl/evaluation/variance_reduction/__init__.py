"""Variance reduction of matches by AIVAT."""
