"""The rules of Big 2 for four players."""
