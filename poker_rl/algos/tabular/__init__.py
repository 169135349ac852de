"""Solvers without networks: CFR in its variants, Monte Carlo CFR and CFR on the public tree."""
