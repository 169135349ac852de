"""Logger for Weights & Biases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from poker_rl.training.loggers.tracker import TIMEOUT_S, Tracker


@dataclass
class WandB(Tracker):
    """Logger for Weights & Biases (W&B), whose files are in `outputs/wandb`.

    A resumed run writes rows after its checkpoint again; W&B ignores rows that it has already.
    """

    package = "wandb"
    project: str
    tags: list[str]
    mode: Literal["offline", "online"]

    def open_run(self, config: Mapping[str, Any]) -> None:
        """Start a run in W&B, or continue the one with the id `run_id`."""
        import wandb

        self.files.mkdir(exist_ok=True)  # W&B would use a temporary folder if this one were missing
        self._run = wandb.init(
            project=self.project,
            id=self.run_id,
            name=self.run_name,
            config=dict(config),
            allow_val_change=True,  # the budget of a resumed run may be larger
            tags=[*map(str, self.names.values()), *self.tags],
            mode=self.mode,
            dir=self.files.parent,
            resume="allow",
            settings=wandb.Settings(
                silent=True,
                console="off",
                init_timeout=TIMEOUT_S,
                finish_timeout=TIMEOUT_S,
                finish_timeout_raises=True,
            ),
        )

    def track(self, values: Mapping[str, float], figures: Mapping[str, Path], step: int) -> None:
        """Write values and figures after `step` decisions."""
        import wandb

        images = {name: wandb.Image(str(path)) for name, path in figures.items()}
        self._run.log({**values, **images}, step=step)

    def close_run(self, status: str) -> None:
        """Write the status into W&B's summary of the run, and end the run."""
        self._run.summary["status"] = status
        self._run.finish(exit_code=int(status == "failed"))
