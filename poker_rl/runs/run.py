"""The training loop: learn, evaluate, record, checkpoint.

A run that is killed at any moment and resumed repeats, to the bit, what it would have done: the
checkpoint holds the algorithm's state, the length of the metrics file and the sums of the row being
gathered, and nothing that a run does beside learning (evaluating, checkpointing) leaves a trace in
the algorithm.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.horizons import used_up
from poker_rl.config.settings import Refused
from poker_rl.evaluation.measurement import Evaluator
from poker_rl.games.game import Game
from poker_rl.learning import processes
from poker_rl.players.opponents import OPPONENTS
from poker_rl.players.player import NotNumbers
from poker_rl.runs import together
from poker_rl.runs.record import Recorder, flatten
from poker_rl.runs.resume import demand_fit, demand_kept, kept
from poker_rl.runs.stop import Stop
from poker_rl.storage import checkpoint
from poker_rl.storage.disk import say
from poker_rl.storage.folder import CONFIG, MANIFEST, METRICS, hparams, write_manifest
from poker_rl.storage.ran_on import now, peak_memory

IDLE = 10_000  # calls of learn() without a step towards the budget: it will never be reached


class Diverged(Refused):
    """A metric or a weight is no longer a number; the last good checkpoint is kept."""


class Run:
    """One run in its folder."""

    def __init__(
        self,
        cfg: Mapping[str, Any],
        algorithm: Algorithm,
        game: Game,
        evaluation: Evaluator,
        folder: Path,
        manifest: dict[str, Any],
    ) -> None:
        self.algorithm, self.game, self.evaluation = algorithm, game, evaluation
        self.folder, self.manifest = folder, manifest
        self.settings, self.names = kept(cfg), dict(cfg["names"])
        self.unit, self.budget = str(cfg["budget_unit"]), int(cfg["budget"])
        self.evaluate_every = int(cfg["evaluate_every"])
        self.checkpoint_every = int(cfg["checkpoint_every"])
        self.draws = bool(cfg["figures"])
        self.copies: list[Path] = []  # of opponents
        self.saved: dict[str, int] | None = None  # counters at the last checkpoint
        # Decisions at the checkpoints that every run of these settings makes. Those at a stop are
        # not among them: what is measured against earlier selves must not depend on stops.
        self.regular: list[int] = []
        self.last_row: dict[str, float] = {}
        self.watch: Callable[[Mapping[str, float]], None] = lambda row: None  # told each new row
        self.recorder = Recorder(folder, self.unit, self.budget, hparams(cfg))

    @property
    def step(self) -> int:
        """Progress in the unit of the budget."""
        return int(getattr(self.algorithm.progress, self.unit))

    def restore(self, earlier_budget: int) -> None:
        """Take up the last checkpoint of a run that began with a budget, perhaps a smaller one.

        Raises:
            Refused: if it is damaged, belongs to another run, or there is nothing left to do or
                to learn.
        """
        path = self.folder / checkpoint.STATE
        if self.manifest["checkpoint"] is None and not path.exists():
            self.recorder.start_over()
            return
        state = checkpoint.load_state(path)
        if state["names"] != self.names or state["game"] != self.game.state():
            raise Refused(f"{path} is the checkpoint of another game or algorithm")
        demand_kept(self.settings, state, path)
        together.demand_left(self.folder, state["progress"].get("decisions"))
        for name in checkpoint.not_finite(state["algorithm"]):
            raise Refused(f"{path} can't be trained on: {name} is not finite")
        own = {"algorithm": self.algorithm.state_dict(), "record": self.recorder.state_dict()}
        demand_fit(state, own, path)
        try:
            self.algorithm.load_state_dict(state["algorithm"])
        except checkpoint.MISFITS as error:
            why = str(error).partition("\n")[0]
            raise Refused(f"{path} does not fit the settings of this run: {why}") from error
        if asdict(self.algorithm.progress) != state["progress"]:
            raise Refused(f"{path}: its progress is not that of {self.names['algo']} in it")
        spent = next(used_up(self.algorithm, earlier_budget, self.unit), None)
        falls = (
            f"the step size algo.{spent} of {self.folder} falls to 0 within its"
            f" {earlier_budget:,} {self.unit}, so that nothing would be learnt in more"
        )
        anew = f"go on in a new run, with warm_start={shlex.quote(str(self.folder))}"
        if self.manifest["status"] == "finished" and self.step >= self.budget:
            further = "a larger budget goes on" if spent is None else f"{falls}; {anew}"
            raise Refused(
                f"budget: {self.folder} has already done {self.step:,} of {self.budget:,}"
                f" {self.unit}; {further}"
            )
        if self.budget > earlier_budget and spent is not None:
            raise Refused(f"budget: {falls}; begin anew with budget={self.budget}, or {anew}")
        self.last_row = self.recorder.load_state_dict(state["record"])
        # a checkpoint of an earlier version does not tell them apart
        kept_here = [int(path.stem) for path in checkpoint.snapshots(self.folder)]
        self.regular = list(state.get("regular", kept_here))
        self.saved = self.manifest["checkpoint"] = state["progress"]

    def loop(self, stop: Stop) -> None:
        """Learn until the budget is spent, or a signal comes."""
        new = self.recorder.last_step < 0
        if new:  # which may take most of a minute, in which the bar stands still
            say("measures the players before they learn")
        self.recorder.begin(self.step)
        self.copies = list((self.folder / OPPONENTS).glob("*"))
        if new:
            self.measure()
            self.save(self.recorder.state_dict(), regular=True)
        idle = 0
        while self.step < self.budget and not stop.asked():
            before, started = self.step, perf_counter()
            with self.numbers():
                metrics = self.algorithm.learn()
            self.demand_finite(metrics)
            self.recorder.add(metrics, perf_counter() - started, self.step)
            exact = self.evaluation.exact_every
            now_exact = exact is not None and crossed(before, self.step, exact)
            if now_exact or crossed(before, self.step, self.evaluate_every):
                self.measure(now_exact)
            if crossed(before, self.step, self.checkpoint_every):
                self.save(self.recorder.state_dict(), regular=True)
            idle = idle + 1 if self.step == before else 0
            if idle == IDLE:
                raise Refused(f"budget_unit: {self.names['algo']} does not count {self.unit}")

    def finish(self) -> None:
        """The last row, the last checkpoint and, if they are wanted, the figures."""
        # A row off the beat of evaluate_every would not be there in a longer run, so the checkpoint
        # does not know of it.
        record = self.recorder.state_dict()
        if self.recorder.last_step != self.step:
            self.measure()
        self.save(record)
        if self.draws:
            players = dict(self.algorithm.players())
            origin = f"run {self.folder}, {self.names['game']}, seed {self.manifest['seed']}"
            figures = self.evaluation.figures(players, self.folder / METRICS)
            for name, figure in figures.items():
                self.recorder.figure(name, figure, origin)
        self.check_files()

    def check_files(self) -> None:
        """Check that nobody removed what the run has left so far: writing to it would not fail.

        Raises:
            OSError: naming the file or the folder.
        """
        paths = [self.folder, *(self.folder / name for name in (CONFIG, MANIFEST)), *self.copies]
        if self.saved is not None:
            decisions, others = self.saved["decisions"], range(1, processes.count())
            paths.append(self.folder / checkpoint.STATE)
            paths += [together.left_at(self.folder, decisions, rank) for rank in others]
        for path in paths:
            path.stat()
        self.recorder.check()

    def measure(self, exact: bool = False) -> None:
        """Evaluate the players and write a row."""
        started = perf_counter()
        players, decisions = dict(self.algorithm.players()), self.algorithm.progress.decisions
        regular = [one for one in self.regular if one <= decisions // 2]
        there = [path for path in checkpoint.snapshots(self.folder) if int(path.stem) in regular]
        half = there[-1] if there else None  # a user may have deleted some
        with self.numbers():
            measurements = self.evaluation.evaluate(players, half, exact)
        self.demand_finite(flatten(measurements))
        seconds = perf_counter() - started
        self.last_row = self.recorder.row(self.algorithm.progress, measurements, seconds)
        self.manifest["measurements"] = {
            f"eval/{tag}": {"unit": m.unit, "kind": m.kind} for tag, m in measurements.items()
        }
        self.check_files()
        self.watch(self.last_row)

    def save(self, record: dict[str, Any], regular: bool = False) -> None:
        """Write a checkpoint, if there is none of this moment; `record` is the recorder's part."""
        if self.saved == asdict(self.algorithm.progress):
            return
        state = self.algorithm.state_dict()
        for name in checkpoint.not_finite(state):
            raise self.diverged(f"{name} of the algorithm's state is not finite")
        progress, game = self.algorithm.progress, self.game.state()
        players = {name: player.state() for name, player in self.algorithm.players().items()}
        if regular:
            self.regular.append(progress.decisions)
        self.recorder.sync()
        self.check_files()
        processes.meet()  # the others have saved what is their own
        checkpoint.save_snapshot(
            self.folder, progress.decisions, {"game": game, "players": players}
        )
        checkpoint.save(
            self.folder / checkpoint.STATE,
            {
                "names": self.names,
                "settings": self.settings,
                "game": game,
                "progress": asdict(progress),
                "algorithm": state,
                "record": record,
                "regular": list(self.regular),
            },
        )
        together.tidy(self.folder, progress.decisions)
        self.saved = self.manifest["checkpoint"] = asdict(progress)
        write_manifest(self.folder, self.manifest)

    def demand_finite(self, values: Mapping[str, float]) -> None:
        for tag, value in values.items():
            if not isfinite(value):
                raise self.diverged(f"{tag} is {float(value)}")

    @contextmanager
    def numbers(self) -> Iterator[None]:
        """A player whose probabilities are no numbers in this context has diverged."""
        try:
            yield
        except NotNumbers as error:
            raise self.diverged(str(error)) from error

    def diverged(self, what: str) -> Diverged:
        decisions = self.algorithm.progress.decisions
        kept = "there was no checkpoint yet"
        if self.manifest["checkpoint"] is not None:
            kept = (
                f"the last good checkpoint is {self.folder / checkpoint.STATE}"
                f" ({self.manifest['checkpoint']['decisions']:,} decisions)"
            )
        return Diverged(f"{what} after {decisions:,} decisions; {kept}")

    def close(self, status: str, error: BaseException | None = None) -> None:
        before = self.manifest.get("peak_memory_mib") or 0
        self.manifest |= {"status": status, "end": now()}
        self.manifest["peak_memory_mib"] = max(before, peak_memory())
        if error is not None:
            self.manifest["error"] = f"{type(error).__name__}: {error}"
        try:
            self.recorder.close()
        finally:
            write_manifest(self.folder, self.manifest)


def crossed(before: int, after: int, every: int) -> bool:
    """Whether a multiple of `every` was reached on the way from before to after."""
    return after // every > before // every
