"""Skip the tests of environments if PettingZoo, a package of the extra `gym`, is missing."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pettingzoo") else ["test_environments.py"]
