"""TensorBoard shows each point once, even after a kill; names and figures of run folders."""

import json
import re
import shutil
from collections import defaultdict
from pathlib import Path
from time import sleep

import numpy as np
import pytest
import tiny_run
from hydra.core.override_parser.overrides_parser import OverridesParser
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.util import tensor_util

from poker_rl.config import ConfigError
from poker_rl.evaluation.plots import plotting
from poker_rl.storage.run_files import create_run_folder, format_overrides_label

pytestmark = pytest.mark.usefixtures("working_folder")


def read_tensorboard(outputs):
    """Return TensorBoard's reader of the runs in a folder."""
    multiplexer = EventMultiplexer(tensor_size_guidance={"scalars": 0, "hparams": 0})
    multiplexer.AddRunsFromDirectory(str(outputs))
    multiplexer.Reload()
    return multiplexer


def read_curves(multiplexer, run):
    """Return the points (step, value) of each tag of a run in TensorBoard."""
    points = {}
    for tag in multiplexer.PluginRunToTagToContent("scalars")[run]:
        events = multiplexer.Tensors(run, tag)
        points[tag] = [(e.step, float(tensor_util.make_ndarray(e.tensor_proto))) for e in events]
    return points


def expected_curves(folder, player=None):
    """Return each tag's points by metrics.jsonl, of the run of `player`; None: the main run."""
    points = defaultdict(list)
    for row in tiny_run.read_rows(folder):
        values = dict(row) | {"eval/exploitability": row["eval/current/exploitability"]}
        for tag, value in values.items():
            is_of_player = tag.startswith("eval/current/")
            if "/" in tag and not tag.endswith("/half_width") and is_of_player == bool(player):
                tag = tag.replace("eval/current/", "eval_tiny/")
                points[tag].append((int(row["decisions"]), float(np.float32(value))))
    return dict(points)


def drop_times(points):
    return {tag: values for tag, values in points.items() if not tag.startswith("time/")}


def test_tensorboard_shows_the_recorded_metrics():
    tiny_run.train()
    folder = tiny_run.get_folder()
    run = str(folder.relative_to("outputs"))
    events = read_tensorboard(Path("outputs"))
    player_run = f"{run}/players/current"
    assert events.Runs().keys() == {run, player_run}
    points, player_points = read_curves(events, run), read_curves(events, player_run)
    assert drop_times(points) == expected_curves(folder)
    assert player_points == expected_curves(folder, "current")
    assert {"time/decisions_per_second", "time/elapsed_s", "time/outside_networks"} < points.keys()
    assert min(points) == "eval/exploitability"  # first, as TensorBoard sorts tags
    (config,) = events.Tensors(run, "custom_scalars__config__")
    charts = Layout.FromString(tensor_util.make_ndarray(config.tensor_proto).item()).category
    assert [c.title for c in charts] == ["tiny", "tiny: other measures"]
    ((first,), (second,)) = ([chart for chart in category.chart] for category in charts)
    assert (first.title, second.title) == ("exploitability (ante)", "match (ante)")
    matching_tags = [tag for tag in player_points if re.match(first.multiline.tag[0], tag)]
    assert matching_tags == ["eval_tiny/exploitability"]
    assert "figures/exploitability" in events.PluginRunToTagToContent("images")[run]


@pytest.mark.parametrize("unit", ["decisions", "hands"])
def test_curves_of_a_killed_and_resumed_run_have_each_step_once(unit):
    """Steps are always decisions, also if the budget counts hands."""
    tiny_run.train(budget=320, budget_unit=unit)
    folder = tiny_run.get_folder()
    backup = Path("killed")
    shutil.copytree(folder, backup)
    # Leave the folder as after a kill between the row at 350 and the next checkpoint.
    sleep(1)  # TensorBoard orders files by the seconds in their names
    tiny_run.train(folder, budget=390, budget_unit=unit)
    shutil.copy(backup / "state.pt", folder / "state.pt")
    manifest = json.loads((folder / "manifest.json").read_text()) | {"status": "running"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    sleep(1)
    tiny_run.train(folder, budget=500, budget_unit=unit)
    events, run = read_tensorboard(Path("outputs")), str(folder.relative_to("outputs"))
    points = read_curves(events, run)
    assert drop_times(points) == expected_curves(folder)
    assert read_curves(events, f"{run}/players/current") == expected_curves(folder, "current")
    steps = [step for step, _ in points["eval/exploitability"]]
    assert steps == sorted(set(steps))


def test_tensorboard_shows_settings_without_extra_runs():
    tiny_run.train(budget=50)
    tiny_run.train(budget=50, seed=6, algo={"nan_at": 0, "nan_in": "weight"})
    events = read_tensorboard(Path("outputs"))
    assert len(events.Runs()) == 4  # two main runs, and one of each run's player
    settings = []
    for run, tags in events.PluginRunToTagToContent("hparams").items():
        assert run in events.PluginRunToTagToContent("scalars")
        (content,) = tags.values()
        data = HParamsPluginData.FromString(content).session_start_info.hparams
        settings.append({key: value for key, value in data.items()})
    assert settings[0].keys() == settings[1].keys()
    assert {data["algo.nan_in"].string_value for data in settings} == {"metric", "weight"}
    assert {data["seed"].number_value for data in settings} == {5, 6}


def test_broken_link_in_place_of_a_folder_is_refused():
    Path("outputs").mkdir()
    Path("outputs/kuhn").symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"^outputs: outputs/kuhn is not a folder$"):
        create_run_folder(Path("outputs"), "kuhn", "ppo")


def test_run_folder_is_named_after_its_overrides():
    overrides = ["game=kuhn", "algo.entropy_coef.start=0.5", "net=mlp_large", "+x.y=[1,'a b']"]
    overrides += ["budget.z=1e5", "algo=ppo", "warm_start=outputs/kuhn/ppo/seed-1_2026@5:average"]
    label = format_overrides_label(overrides, {"budget"})
    warm_start = "warm_start-seed-1_2026-5-average"
    assert label == f"entropy_coef.start-0.5_net-mlp_large_x.y-1-a-b_{warm_start}"
    folder = create_run_folder(Path("outputs"), "kuhn", "ppo", label=label)
    assert folder.name.startswith(f"{label}_20")
    assert OverridesParser.create().parse_override(f"resume={folder}").value() == str(folder)
    assert len(format_overrides_label([f"a{i}=0" for i in range(300)], ())) < 100


def test_figures_have_a_footnote_or_are_left_out(monkeypatch):
    footnotes = []
    monkeypatch.setattr(plotting, "add_footnote", lambda figure, text: footnotes.append(text))
    tiny_run.train(budget=50, figures=False)
    folder = tiny_run.get_folder()
    assert not (folder / "figures").exists()
    tiny_run.train(folder, budget=60, figures=True)
    assert footnotes == [f"run {folder}, tiny, seed 5"]
    assert (folder / "figures" / "exploitability.png").exists()
