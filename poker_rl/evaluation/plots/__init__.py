"""Figures. Every module imports matplotlib, so import them only to draw."""
