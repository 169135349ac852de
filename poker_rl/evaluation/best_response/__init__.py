"""Lower bounds on exploitability: the local best response (LBR) and trained best responses."""
