"""The public tree of heads-up poker (what both seats see), ranges and information sets."""
