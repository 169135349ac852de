"""From YAML and the command line to checked settings and the objects that they name.

Imports no other room; every room may import it. Only `compose` knows hydra.
"""
