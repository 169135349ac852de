"""Collective operations, such as sums and means, over the processes of one run."""
