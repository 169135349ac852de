"""Logger for Trackio."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poker_rl.training.loggers.tracker import Tracker


@dataclass
class Trackio(Tracker):
    """Logger for Trackio, which stores runs in the Space `space_id` or in `outputs/trackio`."""

    package = "trackio"
    project: str
    space_id: str | None

    def open_run(self, config: Mapping[str, Any]) -> None:
        """Start a run in Trackio whose name contains `run_id`, or continue the run of this name."""
        os.environ.setdefault("TRACKIO_DIR", str(self.files))
        # Trackio loses values while another thread imports matplotlib, so it is imported first.
        import matplotlib.figure  # noqa: F401
        import trackio

        self._run = trackio.init(
            self.project,
            name=f"{self.run_name} {self.run_id}".replace("/", " "),
            group=f"{self.names['game']} {self.names['algo']}",
            space_id=self.space_id,
            config=self.hparams,
            resume="allow",
            embed=False,
        )
        self._next_step = self._run._next_step if self.is_resumed else 0

    def track(self, values: Mapping[str, float], figures: Mapping[str, Path], step: int) -> None:
        """Write values and figures after `step` decisions, except values that Trackio has already.

        Figures are always written: they follow a row of the same step, which Trackio has already.
        """
        import trackio

        images = {name: trackio.Image(str(path)) for name, path in figures.items()}
        if figures or step >= self._next_step:
            self._run.log({**values, **images}, step=step)

    def close_run(self, status: str) -> None:
        """End the run in Trackio."""
        self._run.finish()
