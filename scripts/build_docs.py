"""Build the documentation site in build/site; a broken link ends the build with exit code 1.

    python scripts/build_docs.py

The site is built from a copy of the pages in build/pages. The copy has the same folders as the
repository, so links between pages work on the site too. The script needs the extra `docs`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "build" / "pages"


def find_pages() -> list[Path]:
    """Return the paths of all pages of the site, relative to the repository."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    return sorted(page.relative_to(ROOT) for page in pages)


def copy_files() -> None:
    """Copy the pages and the files that they link to."""
    shutil.rmtree(COPY, ignore_errors=True)
    linked = [ROOT / "CITATION.cff", ROOT / "LICENSE", *ROOT.glob("conf/**/*.yaml")]
    linked += [path for path in ROOT.glob("docs/**/*") if path.suffix in {".css", ".csv", ".png"}]
    for path in [*find_pages(), *(path.relative_to(ROOT) for path in linked)]:
        (COPY / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, COPY / path)


if __name__ == "__main__":
    copy_files()
    sys.exit(
        subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=ROOT
        ).returncode
    )
