"""Skip the tests of environments if the packages of the extra `gym` are missing."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pettingzoo") else ["test_environments.py"]
