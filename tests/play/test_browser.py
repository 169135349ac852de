"""Hands played in a real browser, by clicks and by keys, on a narrow and on a wide page."""

import re
import shutil
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import combinations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright
from servers import make_app, make_sessions, make_table_setup, serve

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-sync"]
ARGUMENTS += ["--no-first-run", "--disable-background-networking", "--disable-component-update"]
TABLES = {  # quick opponents; what they do does not matter here
    "kuhn": ["uniform"],
    "limit_holdem": ["call"],
    "nolimit_holdem": ["call"],
    "nolimit_holdem_6p": ["call", "uniform", "call", "fold", "call"],
    "big2": ["lowest", "uniform", "lowest"],
}

PATIENCE = 120_000  # milliseconds

expect.set_options(timeout=PATIENCE)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def playing(game, folder):
    """The address of a page on which this game is played."""
    sessions = make_sessions(folder, make_table_setup(game, *TABLES[game]), seed=3)
    with serve(make_app(sessions)) as (_, port):
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of the page of a game, whose server is started when it is first asked for."""
    with ExitStack() as servers:

        @cache
        def of(game):
            return servers.enter_context(playing(game, tmp_path_factory.mktemp(game)))

        yield of


@pytest.fixture
def sit(browser, address):
    """Opens the page of a game in a browser that knows nothing yet."""
    with ExitStack() as contexts:

        def open_(game, width, **settings):
            context = browser.new_context(
                viewport={"width": width, "height": 800}, reduced_motion="reduce", **settings
            )
            contexts.callback(context.close)
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.on("pageerror", lambda error: pytest.fail(str(error)))
            page.goto(address(game))
            expect(page.locator("#moves button").first).to_be_visible()
            return page

        yield open_


def settled(page):
    """Wait until the page has taken what the server told; whether the hand is over then."""
    expect(page.locator("body:not(.busy)")).to_be_attached()
    return page.get_by_role("button", name="Next").count() > 0


def overlapping(page):
    """The buttons of the present move that lie over each other."""
    buttons = page.locator("#moves button").all()
    boxes = [(one.inner_text(), box) for one in buttons if (box := one.bounding_box())]

    def meet(a, b):
        sides = (("x", "width"), ("y", "height"))
        return all(a[x] < b[x] + b[w] - 1 and b[x] < a[x] + a[w] - 1 for x, w in sides)

    return [(one, other) for (one, a), (other, b) in combinations(boxes, 2) if meet(a, b)]


def by_clicks(page):
    """Make one move with the mouse: a combination of cards, or what costs least but a fold."""
    if page.locator("#play").count():
        page.locator(".kinds button").first.click()
        page.locator("#play").click()
    else:
        moves = ", ".join(f"#moves button.{kind}" for kind in ("pass", "fold", "call", "check"))
        page.locator(moves).last.click()


def by_keys(page):
    """Make one move with the keyboard: the adviser's cards, or what costs least but a fold."""
    if page.locator("#play").count():
        page.keyboard.press("h")
        expect(page.locator("#play")).to_be_enabled()
        page.keyboard.press("Enter")
    else:
        page.keyboard.press("p" if page.locator("[data-key=p]").count() else "c")


@pytest.mark.parametrize(
    ("game", "move", "width"),
    [
        ("kuhn", by_clicks, 360),
        ("nolimit_holdem_6p", by_keys, 1280),
        ("nolimit_holdem_6p", by_clicks, 360),
        ("big2", by_keys, 1280),
        ("big2", by_clicks, 360),
    ],
)
def test_a_whole_hand(sit, game, move, width):
    page = sit(game, width)
    moves = 0
    while not settled(page):
        assert not overlapping(page)
        move(page)
        moves += 1
        assert moves < 100
    expect(page.locator("#review")).to_be_visible()
    assert re.match("You (win|lose|come)", page.locator("#turn").inner_text())
    assert page.evaluate("document.documentElement.scrollWidth") == width  # nothing sticks out
    page.keyboard.press(" ")
    expect(page.locator("#log")).to_contain_text(" 2")
    settled(page)
    assert page.locator("#error").inner_text() == ""


@pytest.mark.parametrize(("game", "scheme"), [("nolimit_holdem_6p", "light"), ("big2", "dark")])
def test_accessible(sit, game, scheme):
    # Axe is a script of its own, which the page's policy would not let in.
    page = sit(game, 1280 if scheme == "light" else 360, color_scheme=scheme, bypass_csp=True)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    while not settled(page):
        by_keys(page)
    expect(page.locator("#review")).to_be_visible()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_amounts_by_keys_wheel_and_field(sit):
    page = sit("nolimit_holdem", 1280)
    raise_ = page.locator("#moves button.raise")
    low = int(page.locator("#amount").get_attribute("min"))
    high = int(page.locator("#amount").get_attribute("max"))
    page.keyboard.press("ArrowRight")
    expect(raise_).to_contain_text(f" {low + 2} ")
    page.keyboard.press("Shift+ArrowLeft")
    expect(raise_).to_contain_text(f" {low + 1} ")
    page.locator("#table").hover()
    page.mouse.wheel(0, -100)
    expect(raise_).to_contain_text(f" {low + 3} ")
    page.locator("#amount").fill(str(high + 50))
    expect(raise_).to_contain_text(f" {high} ")
    page.locator("body").click(position={"x": 5, "y": 5})
    page.keyboard.press("1")
    expect(raise_).to_contain_text(f" {low} ")
    page.keyboard.press("5")
    expect(raise_).to_contain_text(f" {high} ")
    page.keyboard.press("r")
    assert settled(page)  # all in, and called
    expect(page.locator("#log")).to_contain_text(f"You: Raise to {high}")


def test_a_reload_and_a_second_tab_see_the_same(sit):
    page = sit("limit_holdem", 1280)
    page.keyboard.press("c")
    settled(page)
    own = page.locator("#own").text_content()
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#own")).to_have_text(own)
    other.keyboard.press("c")
    settled(other)
    page.keyboard.press("c")  # of a view that is gone
    settled(page)
    expect(page.locator("#error")).to_contain_text("in another tab")
    expect(page.locator("#turn")).to_have_text(other.locator("#turn").inner_text())


def test_hints_ranges_and_earlier_hands(sit):
    page = sit("limit_holdem", 360)
    while settled(page):
        page.keyboard.press(" ")
    page.keyboard.press("h")
    page.get_by_text("With every starting hand").click()
    expect(page.locator(".hands td")).to_have_count(169)
    expect(page.locator(".hands td").nth(1)).to_have_text("AKs")
    wide = "[...document.querySelectorAll('.hands td')].some((c) => c.scrollWidth > c.clientWidth)"
    assert not page.evaluate(wide)

    locators, cards = [page.locator("#own"), page.locator("#board")], []
    for number in (1, 2):
        while not settled(page):
            by_keys(page)
        expect(page.locator("#review")).to_be_visible()
        cards.append([locator.text_content() for locator in locators])
        if number == 1:
            page.keyboard.press(" ")
            expect(page.locator("#log")).to_contain_text("Hand 2")
    page.get_by_role("button", name="Earlier hand").click()
    for locator, text in zip(locators, cards[0], strict=True):
        expect(locator).to_have_text(text)
    page.get_by_role("slider", name="Replay").fill("0")
    expect(page.locator("#review h3")).to_contain_text("1 of")
    expect(page.locator("#review .bars li").first).to_be_visible()
    page.get_by_role("button", name="Copy as PHH").click()
    expect(page.get_by_role("textbox")).to_have_value(re.compile('variant = "FT"'))

    page.get_by_role("button", name="Ranges").click()
    expect(page.locator("#ranges .hands")).to_have_count(1)
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator("#ranges-moves").get_by_role("button", name="Call").click()
    page.locator("#ranges-moves").get_by_role("button", name="Check").click()
    page.get_by_label("Board").fill("AsAdAh")
    page.keyboard.press("Enter")
    expect(page.locator("#ranges .gone").first).to_have_text("AA")
    page.get_by_label("Second player").select_option("tight")
    expect(page.locator("#ranges .hands")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_start_screen(browser, tmp_path):
    with serve(make_app(make_sessions(tmp_path))) as (_, port):
        context = browser.new_context(viewport={"width": 390, "height": 844}, bypass_csp=True)
        context.set_default_timeout(PATIENCE)
        page, faults = context.new_page(), []
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"http://127.0.0.1:{port}/")
        page.get_by_label("Game").select_option("kuhn_3p")
        first, second = page.get_by_label("Opponent 1"), page.get_by_label("Opponent 2")
        first.select_option("uniform")
        expect(second).to_have_value("uniform")
        second.select_option("call")
        page.get_by_role("button", name="Rules of this game").click()
        expect(page.get_by_role("dialog")).to_contain_text("Kuhn poker")
        page.keyboard.press("Escape")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        page.get_by_role("button", name="Play", exact=True).click()
        while not settled(page):
            by_keys(page)
        page.get_by_role("button", name="Results").click()
        expect(page.locator("#results tbody tr")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        other = context.new_page()
        other.goto(page.url)
        expect(other.locator("#start-last")).to_contain_text("kuhn 3p against uniform, call")
        other.get_by_role("button", name="Continue").click()
        expect(other.locator("#against")).to_have_text("against uniform, call")
        assert not faults
        context.close()
