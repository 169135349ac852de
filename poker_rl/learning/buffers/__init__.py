"""Buffers of decisions to learn from: replay buffers, reservoirs and merging buffers."""
