"""Sweeps, which train many runs as jobs, and studies, which search for good settings."""
