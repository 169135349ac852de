"""A process of a run that only learns: all but the first one are such."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from poker_rl.config.settings import Refused
from poker_rl.learning import processes
from poker_rl.runs.resume import demand_fit
from poker_rl.runs.run import crossed
from poker_rl.runs.stop import Interrupted, Stop
from poker_rl.runs.together import agree, apart, left_at
from poker_rl.storage import checkpoint


class Follower:
    """The part in a run that a process other than the first one has.

    Args:
        cfg: the settings of the run.
        algorithm: its learner in this process.

    Raises:
        Refused: if the run goes on, and what this process left is not there.
        Lost: if another process has ended.
    """

    def __init__(self, cfg: Mapping[str, Any], algorithm: Any) -> None:
        self.algorithm = algorithm
        self.unit, self.budget = str(cfg["budget_unit"]), int(cfg["budget"])
        self.checkpoint_every = int(cfg["checkpoint_every"])
        folder, self.saved = processes.from_first(None)
        self.folder = Path(folder)
        left = None
        if self.saved is not None:
            path = left_at(self.folder, self.saved["decisions"], processes.rank())
            left = checkpoint.load(path)
            own, _ = apart(algorithm.state_dict(), algorithm.own)
            demand_fit({"algorithm": left}, {"algorithm": own}, path)
        try:
            agree(algorithm, left)
        except checkpoint.MISFITS as error:
            why = str(error).partition("\n")[0]
            raise Refused(f"{self.folder} does not fit the settings of this run: {why}") from error
        processes.meet()

    @property
    def step(self) -> int:
        """Progress in the unit of the budget."""
        return int(getattr(self.algorithm.progress, self.unit))

    def loop(self, stop: Stop) -> None:
        """Learn as long as the first process does, and save when it saves.

        Raises:
            Interrupted: if a signal has come.
        """
        if self.saved is None:
            self.save()
        while self.step < self.budget and not stop.asked():
            before = self.step
            self.algorithm.learn()
            if crossed(before, self.step, self.checkpoint_every):
                self.save()
        self.save()
        if self.step < self.budget:
            raise Interrupted(stop.number, "")

    def save(self) -> None:
        """Leave what is this process's own, unless that was done at this moment."""
        progress = asdict(self.algorithm.progress)
        if self.saved == progress:
            return
        own, _ = apart(self.algorithm.state_dict(), self.algorithm.own)
        path = left_at(self.folder, progress["decisions"], processes.rank())
        path.parent.mkdir(exist_ok=True)
        checkpoint.save(path, checkpoint.compact(own))
        processes.meet()
        self.saved = progress
