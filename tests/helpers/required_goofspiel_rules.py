"""The five required rules of the game of the example plug-in, without its optional rules."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "examples" / "plugin"))

from goofspiel.rules import legal, observe, payoffs, start, step

__all__ = ["legal", "observe", "payoffs", "start", "step"]
