"""Run folders with given rows, for tests of comparisons and reports."""

import json
from pathlib import Path

import yaml

EXACT = "eval/average/exploitability"


def write_run_folder(folder, rows, *, seed=0, names=None, manifest=None, **settings):
    """Write a run folder with these rows of metrics; a higher seed has a later start time."""
    path = Path(folder)
    path.mkdir(parents=True)
    config = {"seed": seed, "threads": 1, "precision": "highest", "outputs": "outputs"}
    config |= {"name": path.name, "names": {"game": "kuhn", "algo": "ppo"} | dict(names or {})}
    config |= {"budget": 100, "budget_unit": "decisions"}
    config |= {"algo": {"_target_": "poker_rl.algos.ppo.PPO", "gamma": 1.0}} | settings
    (path / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    content = {"command": "poker-rl train", "status": "finished", "checkpoint": None}
    content |= {"commit": None, "end": None}
    content |= {"resumed": [], "start": f"2026-01-01T00:00:{seed:02}+00:00", "seed": seed}
    content |= {"cpu": "a processor", "gpu": None, "versions": {"torch": "2.13.0"}}
    content["measurements"] = {EXACT: {"unit": "ante/hand", "kind": "exact"}}
    content |= dict(manifest or {})
    (path / "manifest.json").write_text(json.dumps(content))
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def make_row(decisions, value, **others):
    """Return a row of metrics in which the player `average` has the exploitability `value`."""
    row = {"hands": decisions / 2, "decisions": decisions, "updates": 0, "iterations": 0}
    return row | {EXACT: value, "time/elapsed_s": 6 * decisions} | others
