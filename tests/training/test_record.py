"""Metrics and TensorBoard: each point occurs once, also after a kill."""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from hydra.core.override_parser.overrides_parser import OverridesParser
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.util import tensor_util

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.plots import plotting
from poker_rl.evaluation.result import (
    Result,
    select_headline_results,
)
from poker_rl.storage.run_folder import (
    create_folder_label,
    create_run_folder,
)
from poker_rl.training.run_record import RunRecord

EXACT = Result("current", "value", 0.125, None, "ante", "exact")
SAMPLED = Result("current", "against/call", -0.5, 0.0312, "big blind", "against call", 100)


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def board(outputs: Path) -> EventMultiplexer:
    """Return TensorBoard's reader of the runs in a folder."""
    multiplexer = EventMultiplexer(tensor_size_guidance={"scalars": 0, "hparams": 0})
    multiplexer.AddRunsFromDirectory(str(outputs))
    multiplexer.Reload()
    return multiplexer


def curves(multiplexer: EventMultiplexer, run: str) -> dict[str, list[tuple[int, float]]]:
    """Steps and values by tag."""
    tags = multiplexer.PluginRunToTagToContent("scalars")[run]
    return {
        tag: [
            (e.step, float(tensor_util.make_ndarray(e.tensor_proto)))
            for e in multiplexer.Tensors(run, tag)
        ]
        for tag in tags
    }


def expected_curves(folder: Path, player: str | None = None) -> dict[str, list[tuple[int, float]]]:
    """Steps and values by tag of TensorBoard's run of a player, or of everything else."""
    points = defaultdict(list)
    for row in tiny.rows(folder):
        values = dict(row) | {"eval/exploitability": row["eval/current/exploitability"]}
        for tag, value in values.items():
            is_of_player = tag.startswith("eval/current/")
            if "/" in tag and not tag.endswith("/half_width") and is_of_player == bool(player):
                tag = tag.replace("eval/current/", "eval_tiny/")
                points[tag].append((int(row["decisions"]), float(np.float32(value))))
    return dict(points)


def without_time(points: dict[str, Any]) -> dict[str, Any]:
    return {tag: values for tag, values in points.items() if not tag.startswith("time/")}


def test_learners_share_the_tags_of_their_headline_players() -> None:
    measures = ["exploitability", "exploitability/p50", "nash_conv", "value", "against/call"]
    results = [
        replace(SAMPLED, player=player, measure=measure)
        for player in ("average", "current")
        for measure in measures
    ]
    first = [result for result in results if result.player == "average"]
    assert select_headline_results(results) == {
        "exploitability": first[0],
        "nash_conv": first[2],
        "return/call": first[4],
    }
    assert select_headline_results([]) == {}


def test_tensorboard_shows_what_metrics_hold() -> None:
    tiny.train()
    folder = tiny.only_folder()
    run = str(folder.relative_to("outputs"))
    shown = board(Path("outputs"))
    player_run = f"{run}/players/current"
    assert shown.Runs().keys() == {run, player_run}
    points, player_points = curves(shown, run), curves(shown, player_run)
    assert without_time(points) == expected_curves(folder)
    assert player_points == expected_curves(folder, "current")
    assert {"time/decisions_per_second", "time/elapsed_s", "time/outside_networks"} < points.keys()
    assert min(points) == "eval/exploitability"  # the first card
    about = shown.SummaryMetadata(player_run, "eval_tiny/match").summary_description
    assert about == "ante, against call"
    (config,) = shown.Tensors(run, "custom_scalars__config__")
    charts = Layout.FromString(tensor_util.make_ndarray(config.tensor_proto).item()).category
    assert [c.title for c in charts] == ["tiny", "tiny: other measures"]
    ((first,), (second,)) = ([chart for chart in category.chart] for category in charts)
    assert (first.title, second.title) == ("exploitability", "match")
    drawn = [tag for tag in player_points if re.match(first.multiline.tag[0], tag)]
    assert drawn == ["eval_tiny/exploitability"]
    assert "figures/exploitability" in shown.PluginRunToTagToContent("images")[run]


@pytest.mark.parametrize("unit", ["decisions", "hands"])
def test_curves_of_a_killed_and_resumed_run_do_not_double_back(unit: str) -> None:
    """Points stand at their decisions, whatever the budget counts: one axis for all learners."""
    tiny.train(budget=320, budget_unit=unit)
    folder = tiny.only_folder()
    earlier = Path("killed")
    shutil.copytree(folder, earlier)
    # As a kill between the row at 350 and the next checkpoint would leave it.
    tiny.train(folder, budget=390, budget_unit=unit)
    shutil.copy(earlier / "state.pt", folder / "state.pt")
    manifest = json.loads((folder / "manifest.json").read_text()) | {"status": "running"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    tiny.train(folder, budget=500, budget_unit=unit)
    shown, run = board(Path("outputs")), str(folder.relative_to("outputs"))
    points = curves(shown, run)
    assert without_time(points) == expected_curves(folder)
    assert curves(shown, f"{run}/players/current") == expected_curves(folder, "current")
    steps = [step for step, _ in points["eval/exploitability"]]
    assert steps == sorted(set(steps))


def test_settings_are_shown_without_a_run_of_their_own() -> None:
    tiny.train(budget=50)
    tiny.train(budget=50, seed=6, algo={"nan_at": 0, "nan_in": "weight"})
    shown = board(Path("outputs"))
    assert len(shown.Runs()) == 4  # of each run one for its player
    settings = []
    for run, tags in shown.PluginRunToTagToContent("hparams").items():
        assert run in shown.PluginRunToTagToContent("scalars")
        (content,) = tags.values()
        data = HParamsPluginData.FromString(content).session_start_info.hparams
        settings.append({key: value for key, value in data.items()})
    assert settings[0].keys() == settings[1].keys()
    assert {data["algo.nan_in"].string_value for data in settings} == {"metric", "weight"}
    assert {data["seed"].number_value for data in settings} == {5, 6}


@pytest.mark.parametrize("name", ["outputs", "outputs/kuhn", "outputs/kuhn/ppo"])
@pytest.mark.parametrize("what", ["a file", "a link to nothing"])
def test_what_is_in_the_way_of_a_folder_is_named(name: str, what: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("") if what == "a file" else path.symlink_to("nowhere")
    with pytest.raises(ConfigError, match=f"^outputs: {name} is not a folder$"):
        create_run_folder(Path("outputs"), "kuhn", "ppo")


def test_a_folder_is_named_by_what_was_set() -> None:
    overrides = [
        *(
            "game=kuhn",
            "algo.entropy_coef.start=0.5",
            "net=mlp_large",
            "+x.y=[1,'a b']",
            "budget.z=1e5",
        ),
        "algo=ppo",
        "warm_start=outputs/kuhn/ppo/seed-1_2026@5:average",
    ]
    label = create_folder_label(overrides, {"budget"})
    assert (
        label == "entropy_coef.start-0.5_net-mlp_large_x.y-1-a-b_warm_start-seed-1_2026-5-average"
    )
    folder = create_run_folder(Path("outputs"), "kuhn", "ppo", label=label)
    assert folder.name.startswith(f"{label}_20")
    assert OverridesParser.create().parse_override(f"resume={folder}").value() == str(folder)
    assert len(create_folder_label([f"a{i}=0" for i in range(300)], ())) < 100


def test_figures_are_signed_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    signed = []
    monkeypatch.setattr(plotting, "add_footnote", lambda figure, words: signed.append(words))
    tiny.train(budget=50, figures=False)
    folder = tiny.only_folder()
    assert not (folder / "figures").exists()
    tiny.train(folder, budget=60, figures=True)
    assert signed == [f"run {folder}, tiny, seed 5"]
    assert (folder / "figures" / "exploitability.png").exists()


def test_rows_from_before_the_first_checkpoint_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"decisions": 0}\n')
    record = RunRecord(tmp_path, tiny.settings(budget=1), {}, [])
    record.truncate()
    record.close("failed")
    assert (tmp_path / "metrics.jsonl").read_bytes() == b""


def test_the_first_call_of_learn_does_not_count_for_the_time_left(tmp_path):
    with RunRecord(tmp_path, tiny.settings(budget=100), {}, []) as record:
        record.start(0)
        for step in (10, 30):
            record.add_metrics({}, 1.0, step)
        state = record.bar.format_dict
        assert (state["initial"], record.bar.n) == (10, 30)
