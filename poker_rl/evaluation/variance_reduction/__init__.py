"""Variance reduction of matches: AIVAT and a control variate."""
