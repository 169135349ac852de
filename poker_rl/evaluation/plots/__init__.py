"""Figures. Import these modules only to draw, because each of them loads matplotlib."""
