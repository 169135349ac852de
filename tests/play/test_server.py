"""The page's server: who is let in, what they are told, and that no request loses anything."""

import base64
import gc
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from servers import make_app, make_sessions, make_table_setup, play_on, start_server, stop_server
from starlette.testclient import TestClient

from poker_rl.play.page_server import RESPONSE_HEADERS
from poker_rl.play.play_launcher import create_listener, derive_url_token, load_or_create_cookie_key
from poker_rl.play.session import Session

OURS = {"sec-fetch-site": "same-origin", "host": "127.0.0.1:8000"}


@pytest.fixture(scope="module")
def kuhn():
    return make_table_setup("kuhn", "uniform")


@pytest.fixture
def visit(kuhn, tmp_path, monkeypatch):
    """Opens the page as another visitor each time; the visitors share a server."""
    monkeypatch.setattr("poker_rl.play.visitor_sessions.MAX_SESSIONS", 2)
    sittings = make_sessions(tmp_path, kuhn, seed=1)

    def new(prefix="", begun=True):
        base, app = f"http://127.0.0.1:8000{prefix}", make_app(sittings, prefix)
        client = TestClient(app, base, raise_server_exceptions=False, headers=OURS)
        client.session_store = sittings
        if begun:
            assert client.post("begin", json={}).status_code == 200
        return client

    return new


def finish(client):
    """Play the hand to its end; the view."""
    view = client.get("view").json()
    return play_on(view, lambda path, body: client.post(path, json=body).json())


def test_the_server_answers_to_its_own_names_alone(visit):
    client = visit()
    for host in ("localhost:8000", "proxy.example"):
        assert client.get("/", headers={"host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        for path in ("view", "/"):
            answer = client.get(path, headers={"host": host})
            assert (answer.status_code, list(answer.json())) == (421, ["error"])


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"origin": "http://127.0.0.1:8000"}, True),
        ({"origin": "http://127.0.0.1:9000"}, False),
        ({}, False),
    ],
)
def test_only_the_page_itself_may_change_something(visit, headers, let_in):
    client = visit()
    before = client.get("view").json()
    del client.headers["sec-fetch-site"]
    body = {"turn": before["turn"], "action": before["moves"][0]["action"]}
    answer = client.post("act", json=body, headers=headers)
    assert answer.status_code == (200 if let_in else 403)
    assert (client.get("view").json() == before) is not let_in


def test_the_cookie_is_signed_and_holds_an_id_alone(visit):
    client = visit(begun=False)
    answer = client.post("begin", json={})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    value = client.cookies["table"]
    name = answer.json()["session"]["id"]
    content = value.rpartition(".")[0]
    assert json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4))) == name
    client.cookies.clear()
    for forged in ("", name, content, f"{value}x"):
        headers = {"cookie": f"table={forged}"}
        assert client.get("view", headers=headers).json() is None
        answer = client.get("review/1", headers=headers)
        assert (answer.status_code, list(answer.json())) == (404, ["error"])


def test_get_changes_nothing(visit, tmp_path):
    client = visit()
    finish(client)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    before = client.get("view").json()
    for path in ("", "view", "review/1", "hands/text/1", "static/page.js"):
        assert client.get(path).status_code == 200, path
    for path in ("begin", "act", "next", "hint"):
        assert client.get(path).status_code == 405
    assert client.get("view").json() == before
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")} == kept


def test_every_answer_tells_the_browser_to_be_careful(visit):
    client = visit()
    assert RESPONSE_HEADERS["Content-Security-Policy"].startswith("default-src 'self'")
    answers = [client.get(path) for path in ("", "view", "nowhere", "static/page.css", "review/9")]
    answers += [client.post("act", content=b"x"), client.get("", headers={"host": "evil.example"})]
    for answer in answers:
        assert {key: answer.headers[key] for key in RESPONSE_HEADERS} == RESPONSE_HEADERS
    assert {"nosniff", "no-referrer", "no-store"} <= set(RESPONSE_HEADERS.values())


def test_names_of_games_are_text_on_the_page(kuhn, tmp_path):
    named = replace(kuhn.game, name="<script>alert(1)</script>")
    app = make_app(make_sessions(tmp_path, replace(kuhn, game=named)))
    page = TestClient(app, "http://127.0.0.1:8000", headers=OURS).get("").text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


def test_without_the_token_nothing_is_found(visit):
    client = visit(prefix="/token")
    assert client.get("http://127.0.0.1:8000/token/view").status_code == 200
    for path in ("/", "/view", "/static/page.js", "/tokem/view", "/begin"):
        answer = client.get(f"http://127.0.0.1:8000{path}")
        assert (answer.status_code, list(answer.json())) == (404, ["error"])


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("act", b"{", 400),
        ("act", b"[" * 1000, 400),
        ("act", b"{}" + b" " * 5000, 413),
        ("act", {"turn": "1", "action": 0}, 400),
        ("act", {"turn": "now", "action": 99}, 422),
        ("act", {"turn": "now", "action": 1e99}, 400),
        ("next", {"turn": "now"}, 422),
        ("hint", {"turn": [1]}, 400),
    ],
)
def test_a_bad_request_is_a_sentence_and_changes_nothing(visit, path, body, status):
    client = visit()
    before = client.get("view").json()
    if isinstance(body, bytes):
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
    else:
        if body.get("turn") == "now":
            body = body | {"turn": before["turn"]}
        answer = client.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert "\n" not in answer.json()["error"]
    assert answer.json()["error"].endswith(".")
    assert client.get("view").json() == before


@pytest.mark.parametrize("kind", ["review", "hands/text", "hands/phh"])
def test_an_unfinished_hand_is_not_told(visit, kind):
    for hand, status in (("1", 422), ("9" * 5000, 404)):
        answer = visit().get(f"{kind}/{hand}")
        assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_a_body_that_is_not_json_is_turned_away(visit):
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert visit().post("act", content="turn=1", headers=form).status_code == 415


def test_of_two_clicks_at_once_one_counts_and_an_old_view_gets_the_present_one(visit):
    client = visit()
    view = client.get("view").json()
    body = {"turn": view["turn"], "action": view["moves"][0]["action"]}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: client.post("act", json=body), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    old = next(answer for answer in answers if answer.status_code == 409)
    assert old.json()["view"] == client.get("view").json()


def test_a_fault_of_the_server_is_a_sentence_too(visit, monkeypatch):
    client = visit()
    before = client.get("view").json()
    with monkeypatch.context() as patch:
        patch.setattr(Session, "act", Mock(side_effect=RuntimeError("secret")))
        answer = client.post("act", json={"turn": before["turn"], "action": 0})
    assert (answer.status_code, list(answer.json())) == (500, ["error"])
    assert "secret" not in answer.text
    assert client.get("view").json() == before


def test_the_oldest_session_makes_room_and_comes_back(visit):
    clients = [visit() for _ in range(3)]
    sittings = clients[0].session_store
    assert len(sittings.open_sessions) == 2
    over = finish(clients[0])  # read back from its file, in place of the second
    assert len(sittings.open_sessions) == 2
    for client in clients[1:]:
        assert client.get("view").status_code == 200
    back = clients[0].get("view").json()
    assert back["session"] == over["session"]
    assert back["stats"]["hands"] == 1
    assert back["hand"] in (1, 2)


def test_a_killed_public_server_loses_no_finished_hand(tmp_path):
    public = ["game=kuhn", "against=[uniform]", "host=0.0.0.0", "public=true"]
    server = start_server(tmp_path, *public)
    token = server.path.strip("/")
    assert len(token) >= 32
    assert derive_url_token("another key") != token
    with server.client() as client:
        bare = f"http://127.0.0.1:{server.port}"
        assert client.get(f"{bare}/").status_code == 404
        assert client.get(f"{bare}/{'x' * len(token)}/").status_code == 404
        client.post("begin", json={})
        cookies = dict(client.cookies)
        for _ in range(3):
            view = finish(client)
            client.post("next", json={"turn": view["turn"]})
    server.process.kill()
    server.process.wait()
    file = f"session=outputs/play/kuhn/{view['session']['id']}.jsonl"
    again = start_server(tmp_path, file, *public[2:], f"port={server.port}")
    assert again.path == server.path  # a cookie is sent to the address alone that it came from
    with again.client(cookies) as client, again.client() as other:
        now = client.get("view").json()
        others = other.post("begin", json={}).json()  # the owner has come: it is his alone
        assert others["session"]["id"] != now["session"]["id"]
    assert stop_server(again) == 0
    assert now["session"] == view["session"]
    assert now["stats"]["hands"] == 3
    assert (now["hand"], now["phase"]) == (3, "over")  # the fourth was not finished


def test_the_key_of_cookies_is_kept_and_nobody_elses(tmp_path):
    key = load_or_create_cookie_key(tmp_path / "new")
    assert len(key) >= 32
    assert load_or_create_cookie_key(tmp_path / "new") == key
    assert (tmp_path / "new" / "key").stat().st_mode & 0o077 == 0


def open_start(folder, public=False):
    """Open the page of a newly started server with a start screen."""
    app = make_app(make_sessions(folder, public=public))
    return TestClient(app, "http://127.0.0.1:8000", headers=OURS)


def test_the_start_screen_makes_a_table_and_finds_it_again(tmp_path):
    client = open_start(tmp_path)
    choices = client.get("start").json()
    assert {"name": "kuhn", "about": choices["games"][2]["about"]} in choices["games"]
    assert "openspiel" not in [one["name"] for one in choices["games"]]  # it has no view
    assert (choices["game"], choices["last"]) == ("big2", None)
    game = client.get("players/kuhn_3p").json()
    specs = [player["spec"] for player in game["players"]]
    assert (game["seats"], specs[:2]) == (3, ["call", "uniform"])
    assert all(player["about"] for player in game["players"])
    assert client.get("view").json() is None
    against = ["call", "uniform"]
    assert client.post("begin", json={"game": "kuhn_3p", "against": against}).status_code == 200
    over = finish(client)
    assert len(client.get("results").json()) == 1
    assert client.get("hands/text").text.startswith("kuhn_3p, hand 1\n")
    again = open_start(tmp_path)  # the server was stopped
    again.cookies = client.cookies
    last = {"game": "kuhn_3p", "against": "call, uniform", "hands": 1}
    assert again.get("start").json()["last"] == last
    del client
    gc.collect()  # releases the lock of the session's file
    assert again.get("view").json()["session"] == over["session"]


@pytest.mark.parametrize(
    ("choice", "status"),
    [
        ({}, 400),
        ({"game": "kuhn", "against": []}, 422),
        ({"game": "kuhn", "against": ["../x.yaml"]}, 422),
        ({"game": "kuhn", "against": ["call", "call"]}, 410),
        ({"game": "../kuhn", "against": ["call"]}, 422),
    ],
)
def test_only_what_is_listed_can_be_chosen(tmp_path, choice, status):
    client = open_start(tmp_path, public=True)
    answer = client.post("begin", json=choice)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert client.get("results").status_code == 404  # they may be of others
    assert client.get("view").json() is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["host=0.0.0.0", "game=kuhn"], "host: 0.0.0.0 may be reached by others"),
        (["host=192.0.2.1", "public=true"], "host, port: Cannot assign requested address"),
        (["game=leduc", "against=[call,call]"], "against: 2 opponents; leduc needs 1,"),
        (["game=kuhn", "against=[nobody]"], "against: no player is called nobody; "),
        (["run=nowhere", "game=kuhn"], "game: is that of the run"),
        (["session=damaged.jsonl"], "session: damaged.jsonl is not a file of a session"),
        (["ui=terminal", "game=kuhn", "outputs=/proc/x"], "outputs: nothing can be written"),
        (["session=nested.jsonl"], "session: nested.jsonl is not a file of a session"),
    ],
)
@pytest.mark.usefixtures("working_folder")
def test_refused(get_refusal, arguments, told):
    table = {"game": {"name": "kuhn"}, "against": ["call"]}  # and nobody to give hints
    Path("damaged.jsonl").write_text(json.dumps({"session": "a", "seed": 1, "table": table}))
    Path("nested.jsonl").write_text("[" * 100_000)
    port = [] if any("port=" in one for one in arguments) else ["port=0"]
    said = get_refusal("play", *arguments, *port)
    assert said.startswith(told)
    assert len(said.splitlines()) == 1
    assert not Path("outputs").exists()


@pytest.mark.usefixtures("working_folder")
def test_a_port_in_use_is_refused(get_refusal):
    with create_listener("127.0.0.1", 0, False) as taken:
        port = taken.getsockname()[1]
        assert get_refusal("play", f"port={port}").startswith("host, port: Address already in use")
