"""Tests of the environments need the packages of the extra `gym`."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pettingzoo") else ["test_environments.py"]
