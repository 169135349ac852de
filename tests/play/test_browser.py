"""The play page in a real browser, with mouse and keyboard, on narrow and wide screens."""

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
TABLES = {  # opponents by game: fast ones, whose moves do not matter
    "kuhn": ["uniform"],
    "limit_holdem": ["call"],
    "nolimit_holdem": ["call"],
    "nolimit_holdem_6p": ["call", "uniform", "call", "fold", "call"],
    "big2": ["lowest", "uniform", "lowest"],
}

TIMEOUT_MS = 120_000

expect.set_options(timeout=TIMEOUT_MS)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def serve_game(game, folder):
    """Serve a page on which this game is played; yield its address."""
    sessions = make_sessions(folder, make_table_setup(game, *TABLES[game]), seed=3)
    with serve(make_app(sessions)) as (_, port):
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def page_address(tmp_path_factory):
    """Return a function that starts a game's server, once per game, and returns its address."""
    with ExitStack() as servers:

        @cache
        def get_address(game):
            return servers.enter_context(serve_game(game, tmp_path_factory.mktemp(game)))

        yield get_address


@pytest.fixture
def open_page(browser, page_address):
    """Return a function that opens the page of a game in a new browser context."""
    with ExitStack() as contexts:

        def open_in_new_context(game, width, **settings):
            context = browser.new_context(
                viewport={"width": width, "height": 800}, reduced_motion="reduce", **settings
            )
            contexts.callback(context.close)
            context.set_default_timeout(TIMEOUT_MS)
            page = context.new_page()
            page.on("pageerror", lambda error: pytest.fail(str(error)))
            page.goto(page_address(game))
            expect(page.locator("#moves button").first).to_be_visible()
            return page

        yield open_in_new_context


def wait_and_check_over(page):
    """Wait until the page shows the server's response; return whether the hand is over."""
    expect(page.locator("body:not(.busy)")).to_be_attached()
    return page.get_by_role("button", name="Next").count() > 0


def find_overlapping_buttons(page):
    """Return the texts of each pair of buttons that overlap."""
    buttons = page.locator("#moves button").all()
    boxes = [(button.inner_text(), box) for button in buttons if (box := button.bounding_box())]

    def overlap(a, b):
        sides = (("x", "width"), ("y", "height"))
        return all(a[x] < b[x] + b[w] - 1 and b[x] < a[x] + a[w] - 1 for x, w in sides)

    return [(first, second) for (first, a), (second, b) in combinations(boxes, 2) if overlap(a, b)]


def act_with_mouse(page):
    """Make a move with the mouse: play cards if possible, else check, call, fold or pass."""
    if page.locator("#play").count():
        page.locator(".kinds button").first.click()
        page.locator("#play").click()
    else:
        moves = ", ".join(f"#moves button.{kind}" for kind in ("pass", "fold", "call", "check"))
        page.locator(moves).last.click()


def act_with_keyboard(page):
    """Make a move with the keyboard: play the adviser's cards, pass, check or call."""
    if page.locator("#play").count():
        page.keyboard.press("h")
        expect(page.locator("#play")).to_be_enabled()
        page.keyboard.press("Enter")
    else:
        page.keyboard.press("p" if page.locator("[data-key=p]").count() else "c")


@pytest.mark.parametrize(
    ("game", "move", "width"),
    [
        ("kuhn", act_with_mouse, 360),
        ("nolimit_holdem_6p", act_with_keyboard, 1280),
        ("nolimit_holdem_6p", act_with_mouse, 360),
        ("big2", act_with_keyboard, 1280),
        ("big2", act_with_mouse, 360),
    ],
)
def test_hand_is_played_to_its_end(open_page, game, move, width):
    page = open_page(game, width)
    moves = 0
    while not wait_and_check_over(page):
        assert not find_overlapping_buttons(page)
        move(page)
        moves += 1
        assert moves < 100
    expect(page.locator("#review")).to_be_visible()
    assert re.match("You (win|lose|come)", page.locator("#turn").inner_text())
    assert page.evaluate("document.documentElement.scrollWidth") == width  # nothing is wider
    page.keyboard.press(" ")
    expect(page.locator("#log")).to_contain_text(" 2")
    wait_and_check_over(page)
    assert page.locator("#error").inner_text() == ""


@pytest.mark.parametrize(("game", "scheme"), [("nolimit_holdem_6p", "light"), ("big2", "dark")])
def test_play_page_is_accessible(open_page, game, scheme):
    # The page's content security policy would block the script that Axe injects.
    page = open_page(game, 1280 if scheme == "light" else 360, color_scheme=scheme, bypass_csp=True)
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    while not wait_and_check_over(page):
        act_with_keyboard(page)
    expect(page.locator("#review")).to_be_visible()
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_bet_amount_is_set_by_keys_wheel_and_field(open_page):
    page = open_page("nolimit_holdem", 1280)
    raise_button = page.locator("#moves button.raise")
    minimum = int(page.locator("#amount").get_attribute("min"))
    maximum = int(page.locator("#amount").get_attribute("max"))
    page.keyboard.press("ArrowRight")
    expect(raise_button).to_contain_text(f" {minimum + 2} ")
    page.keyboard.press("Shift+ArrowLeft")
    expect(raise_button).to_contain_text(f" {minimum + 1} ")
    page.locator("#table").hover()
    page.mouse.wheel(0, -100)
    expect(raise_button).to_contain_text(f" {minimum + 3} ")
    page.locator("#amount").fill(str(maximum + 50))
    expect(raise_button).to_contain_text(f" {maximum} ")
    page.locator("body").click(position={"x": 5, "y": 5})
    page.keyboard.press("1")
    expect(raise_button).to_contain_text(f" {minimum} ")
    page.keyboard.press("5")
    expect(raise_button).to_contain_text(f" {maximum} ")
    page.keyboard.press("r")
    assert wait_and_check_over(page)  # the hand is over: all-in and called
    expect(page.locator("#log")).to_contain_text(f"You: Raise to {maximum}")


def test_second_tab_shows_the_same_hand_and_outdates_the_first(open_page):
    page = open_page("limit_holdem", 1280)
    page.keyboard.press("c")
    wait_and_check_over(page)
    own_cards = page.locator("#own").text_content()
    second_tab = page.context.new_page()
    second_tab.goto(page.url)
    expect(second_tab.locator("#own")).to_have_text(own_cards)
    second_tab.keyboard.press("c")
    wait_and_check_over(second_tab)
    page.keyboard.press("c")  # this tab shows an outdated view
    wait_and_check_over(page)
    expect(page.locator("#error")).to_contain_text("in another tab")
    expect(page.locator("#turn")).to_have_text(second_tab.locator("#turn").inner_text())


def test_hints_review_of_earlier_hands_and_ranges(open_page):
    page = open_page("limit_holdem", 360)
    while wait_and_check_over(page):
        page.keyboard.press(" ")
    page.keyboard.press("h")
    page.get_by_text("With every starting hand").click()
    expect(page.locator(".hands td")).to_have_count(169)
    expect(page.locator(".hands td").nth(1)).to_have_text("AKs")
    wide = "[...document.querySelectorAll('.hands td')].some((c) => c.scrollWidth > c.clientWidth)"
    assert not page.evaluate(wide)

    locators, cards = [page.locator("#own"), page.locator("#board")], []
    for number in (1, 2):
        while not wait_and_check_over(page):
            act_with_keyboard(page)
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


def test_start_screen_starts_a_game_and_offers_to_continue_it(browser, tmp_path):
    with serve(make_app(make_sessions(tmp_path))) as (_, port):
        context = browser.new_context(viewport={"width": 390, "height": 844}, bypass_csp=True)
        context.set_default_timeout(TIMEOUT_MS)
        page, messages = context.new_page(), []
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(f"http://127.0.0.1:{port}/")
        page.get_by_label("Game").select_option("kuhn_3p")
        first, second = page.get_by_label("Opponent 1"), page.get_by_label("Opponent 2")
        first.select_option("uniform")
        expect(second).to_have_value("uniform")
        second.select_option("call")
        page.get_by_role("button", name="Rules of this game").click()
        expect(page.get_by_role("dialog")).to_contain_text("Kuhn poker")
        page.keyboard.press("Escape")
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
        page.get_by_role("button", name="Play", exact=True).click()
        while not wait_and_check_over(page):
            act_with_keyboard(page)
        page.get_by_role("button", name="Results").click()
        expect(page.locator("#results tbody tr")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        second_page = context.new_page()
        second_page.goto(page.url)
        expect(second_page.locator("#start-last")).to_contain_text("kuhn 3p against uniform, call")
        second_page.get_by_role("button", name="Continue").click()
        expect(second_page.locator("#against")).to_have_text("against uniform, call")
        assert not messages
        context.close()
