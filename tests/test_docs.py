"""Links between pages, to files and to headings; the documentation site."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from build_docs import find_pages

ROOT = Path(__file__).parents[1]


def anchors(page):
    """Return the anchors of a page's headings: lower case, with dashes, as on GitHub."""
    counts = {}
    found = set()
    for heading in re.findall(r"^#+ (.*)$", without_code(page), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = counts.get(anchor, 0)
        counts[anchor] = count + 1
        found.add(f"{anchor}-{count}" if count else anchor)
    return found


def without_code(page):
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


def test_links_lead_somewhere():
    for page in (ROOT / name for name in find_pages()):
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
            if "://" not in target:
                path, _, anchor = target.partition("#")
                linked = (page.parent / path).resolve() if path else page
                assert linked.exists(), (page, target)
                assert not anchor or anchor in anchors(linked), (page, target)


def test_navigation_of_the_site_has_every_page_once():
    entries = re.findall(r"[-:] (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(entries) == sorted(map(str, find_pages()))


@pytest.mark.skipif(find_spec("zensical") is None, reason="the extra docs is not installed")
def test_site_builds_without_warnings():
    subprocess.run([sys.executable, "scripts/build_docs.py"], cwd=ROOT, check=True)
