"""Tests of the environments need the packages of the extra `gym`."""

from importlib.util import find_spec

needs_gym = ["test_gymnasium.py", "test_pettingzoo.py"]
collect_ignore = [] if find_spec("pettingzoo") else needs_gym
