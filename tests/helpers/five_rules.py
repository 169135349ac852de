"""The rules that every game needs, of the example of a plug-in and without its optional ones."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "examples" / "plugin"))

from goofspiel.rules import legal, observe, payoffs, start, step

__all__ = ["legal", "observe", "payoffs", "start", "step"]
