"""The layers of the package: imports only go down, and heavy libraries stay where they belong."""

import ast
import subprocess
import sys
from pathlib import Path

import poker_rl

PACKAGE = Path(poker_rl.__file__).parent

# Packages from top to bottom; those of one layer do not import each other.
LAYERS = [{"cli"}, {"play"}, {"reports"}, {"sweeps"}, {"training"}, {"algos"}]
LAYERS += [{"evaluation", "integrations", "learning"}, {"players"}, {"nets"}]
LAYERS += [{"games", "storage"}, {"config"}]

# Libraries, each with the modules or packages that alone may import it.
ONLY_IN = {
    "gymnasium": ("integrations.",),
    "mlflow": ("training.loggers.trackers",),
    "optuna": ("sweeps.",),
    "onnx": ("reports.export_weights",),
    "onnxruntime": ("reports.export_weights",),
    "pettingzoo": ("integrations.",),
    "pokerkit": ("games.poker.phh_reader",),
    "pyspiel": ("integrations.",),
    "safetensors": ("storage.checkpoint",),
    "stable_baselines3": ("integrations.sb3_vec_env",),
    "rich": ("reports.watch_run",),
    "trackio": ("training.loggers.trackers",),
    "wandb": ("training.loggers.trackers",),
    "hydra": ("config.compose", "sweeps.job_launcher", "config.overrides"),
    "omegaconf": ("config.build", "config.compose", "config.option_files", "sweeps.job_launcher"),
}
NEVER_IN_GAMES = {"torch", "hydra", "omegaconf", "matplotlib", "yaml"}


def list_imports():
    """Yield pairs: a module, without the prefix `poker_rl.`, and a dotted name that it imports."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((module, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((module, f"{node.module}.{alias.name}") for alias in node.names)


def test_imports_go_down_the_layers():
    layer_of = {package: n for n, packages in enumerate(LAYERS) for package in packages}
    assert layer_of.keys() == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    wrong = []
    for module, name in list_imports():
        top, package = module.partition(".")[0], name.removeprefix("poker_rl.").partition(".")[0]
        is_ours = name.startswith("poker_rl.") and top in layer_of and package in layer_of
        if is_ours and package != top and layer_of[package] <= layer_of[top]:
            wrong.append(f"{module} imports {name}")
    assert not wrong


def test_libraries_are_imported_only_where_allowed():
    for module, name in list_imports():
        library = name.partition(".")[0]
        assert module.startswith(ONLY_IN.get(library, "")), f"{module} imports {library}"
        assert not (module.startswith("games.") and library in NEVER_IN_GAMES), module
    # Hydra and matplotlib take half a second each to import; a library user needs neither.
    program = (
        "import sys, poker_rl.algos, poker_rl.evaluation, poker_rl.games, poker_rl.players;"
        "assert not {'hydra', 'matplotlib', 'optuna'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
