"""Server of the play page: access control, error responses, and sessions that are never lost."""

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

PAGE_HEADERS = {"sec-fetch-site": "same-origin", "host": "127.0.0.1:8000"}


@pytest.fixture(scope="module")
def kuhn():
    return make_table_setup("kuhn", "uniform")


@pytest.fixture
def open_page(kuhn, tmp_path, monkeypatch):
    """Return a function that returns a new visitor's client; visitors share a session store."""
    monkeypatch.setattr("poker_rl.play.visitor_sessions.MAX_SESSIONS", 2)
    store = make_sessions(tmp_path, kuhn, seed=1)

    def open_as_new_visitor(prefix="", begin=True):
        base, app = f"http://127.0.0.1:8000{prefix}", make_app(store, prefix)
        client = TestClient(app, base, raise_server_exceptions=False, headers=PAGE_HEADERS)
        client.session_store = store
        if begin:
            assert client.post("begin", json={}).status_code == 200
        return client

    return open_as_new_visitor


def finish_hand(client):
    """Play the hand to its end; return the final view."""
    view = client.get("view").json()
    return play_on(view, lambda path, body: client.post(path, json=body).json())


def test_requests_for_other_host_names_are_rejected(open_page):
    client = open_page()
    for host in ("localhost:8000", "proxy.example"):
        assert client.get("/", headers={"host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        for path in ("view", "/"):
            response = client.get(path, headers={"host": host})
            assert (response.status_code, list(response.json())) == (421, ["error"])


@pytest.mark.parametrize(
    ("headers", "is_allowed"),
    [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"origin": "http://127.0.0.1:8000"}, True),
        ({"origin": "http://127.0.0.1:9000"}, False),
        ({}, False),
    ],
)
def test_only_same_origin_requests_may_change_a_session(open_page, headers, is_allowed):
    client = open_page()
    before = client.get("view").json()
    del client.headers["sec-fetch-site"]
    body = {"turn": before["turn"], "action": before["moves"][0]["action"]}
    response = client.post("act", json=body, headers=headers)
    assert response.status_code == (200 if is_allowed else 403)
    assert (client.get("view").json() == before) is not is_allowed


def test_cookie_is_signed_and_holds_only_the_session_id(open_page):
    client = open_page(begin=False)
    response = client.post("begin", json={})
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    value = client.cookies["table"]
    session_id = response.json()["session"]["id"]
    content = value.rpartition(".")[0]
    assert json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4))) == session_id
    client.cookies.clear()
    for forged in ("", session_id, content, f"{value}x"):
        headers = {"cookie": f"table={forged}"}
        assert client.get("view", headers=headers).json() is None
        response = client.get("review/1", headers=headers)
        assert (response.status_code, list(response.json())) == (404, ["error"])


def test_get_requests_change_nothing(open_page, tmp_path):
    client = open_page()
    finish_hand(client)
    saved = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    before = client.get("view").json()
    for path in ("", "view", "review/1", "hands/text/1", "static/page.js"):
        assert client.get(path).status_code == 200, path
    for path in ("begin", "act", "next", "hint"):
        assert client.get(path).status_code == 405
    assert client.get("view").json() == before
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")} == saved


def test_every_response_has_the_security_headers(open_page):
    client = open_page()
    assert RESPONSE_HEADERS["Content-Security-Policy"].startswith("default-src 'self'")
    results = [client.get(path) for path in ("", "view", "nowhere", "static/page.css", "review/9")]
    results += [client.post("act", content=b"x"), client.get("", headers={"host": "evil.example"})]
    for response in results:
        assert {key: response.headers[key] for key in RESPONSE_HEADERS} == RESPONSE_HEADERS
    assert {"nosniff", "no-referrer", "no-store"} <= set(RESPONSE_HEADERS.values())


def test_game_names_are_escaped_on_the_page(kuhn, tmp_path):
    renamed = replace(kuhn.game, name="<script>alert(1)</script>")
    app = make_app(make_sessions(tmp_path, replace(kuhn, game=renamed)))
    page = TestClient(app, "http://127.0.0.1:8000", headers=PAGE_HEADERS).get("").text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


def test_paths_without_the_token_are_not_found(open_page):
    client = open_page(prefix="/token")
    assert client.get("http://127.0.0.1:8000/token/view").status_code == 200
    for path in ("/", "/view", "/static/page.js", "/tokem/view", "/begin"):
        response = client.get(f"http://127.0.0.1:8000{path}")
        assert (response.status_code, list(response.json())) == (404, ["error"])


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
def test_bad_request_gets_one_sentence_and_changes_nothing(open_page, path, body, status):
    client = open_page()
    before = client.get("view").json()
    if isinstance(body, bytes):
        response = client.post(path, content=body, headers={"content-type": "application/json"})
    else:
        if body.get("turn") == "now":
            body = body | {"turn": before["turn"]}
        response = client.post(path, json=body)
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert "\n" not in response.json()["error"]
    assert response.json()["error"].endswith(".")
    assert client.get("view").json() == before


@pytest.mark.parametrize("kind", ["review", "hands/text", "hands/phh"])
def test_unfinished_hand_is_not_revealed(open_page, kind):
    for hand, status in (("1", 422), ("9" * 5000, 404)):
        response = open_page().get(f"{kind}/{hand}")
        assert (response.status_code, list(response.json())) == (status, ["error"])


def test_body_that_is_not_json_is_rejected(open_page):
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert open_page().post("act", content="turn=1", headers=form).status_code == 415


def test_only_one_of_simultaneous_moves_counts(open_page):
    client = open_page()
    view = client.get("view").json()
    body = {"turn": view["turn"], "action": view["moves"][0]["action"]}
    with ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(lambda _: client.post("act", json=body), range(4)))
    assert sorted(response.status_code for response in responses) == [200, 409, 409, 409]
    conflict = next(response for response in responses if response.status_code == 409)
    assert conflict.json()["view"] == client.get("view").json()


def test_server_error_hides_details_and_changes_nothing(open_page, monkeypatch):
    client = open_page()
    before = client.get("view").json()
    with monkeypatch.context() as patch:
        patch.setattr(Session, "act", Mock(side_effect=RuntimeError("secret")))
        response = client.post("act", json={"turn": before["turn"], "action": 0})
    assert (response.status_code, list(response.json())) == (500, ["error"])
    assert "secret" not in response.text
    assert client.get("view").json() == before


def test_oldest_session_is_closed_and_reopened_on_request(open_page):
    clients = [open_page() for _ in range(3)]
    store = clients[0].session_store
    assert len(store.open_sessions) == 2
    final_view = finish_hand(clients[0])  # reopened from its file; the second session is closed
    assert len(store.open_sessions) == 2
    for client in clients[1:]:
        assert client.get("view").status_code == 200
    reopened = clients[0].get("view").json()
    assert reopened["session"] == final_view["session"]
    assert reopened["stats"]["hands"] == 1
    assert reopened["hand"] in (1, 2)


def test_killed_public_server_loses_no_finished_hand(tmp_path):
    public = ["game=kuhn", "against=[uniform]", "host=0.0.0.0", "public=true"]
    server = start_server(tmp_path, *public)
    token = server.path.strip("/")
    assert len(token) >= 32
    assert derive_url_token("another key") != token
    with server.client() as client:
        base_url = f"http://127.0.0.1:{server.port}"
        assert client.get(f"{base_url}/").status_code == 404
        assert client.get(f"{base_url}/{'x' * len(token)}/").status_code == 404
        client.post("begin", json={})
        cookies = dict(client.cookies)
        for _ in range(3):
            view = finish_hand(client)
            client.post("next", json={"turn": view["turn"]})
    server.process.kill()
    server.process.wait()
    file = f"session=outputs/play/kuhn/{view['session']['id']}.jsonl"
    restarted = start_server(tmp_path, file, *public[2:], f"port={server.port}")
    assert restarted.path == server.path  # browsers return a cookie only to the path that set it
    with restarted.client(cookies) as client, restarted.client() as other_client:
        resumed = client.get("view").json()
        other_view = other_client.post("begin", json={}).json()  # has no cookie
        assert other_view["session"]["id"] != resumed["session"]["id"]
    assert stop_server(restarted) == 0
    assert resumed["session"] == view["session"]
    assert resumed["stats"]["hands"] == 3
    assert (resumed["hand"], resumed["phase"]) == (3, "over")  # hand 4 was abandoned


def test_cookie_key_is_saved_and_readable_only_by_its_owner(tmp_path):
    key = load_or_create_cookie_key(tmp_path / "new")
    assert len(key) >= 32
    assert load_or_create_cookie_key(tmp_path / "new") == key
    assert (tmp_path / "new" / "key").stat().st_mode & 0o077 == 0


def open_start_screen(folder, public=False):
    """Return a client of a new server with a start screen."""
    app = make_app(make_sessions(folder, public=public))
    return TestClient(app, "http://127.0.0.1:8000", headers=PAGE_HEADERS)


def test_start_screen_creates_a_table_and_remembers_it(tmp_path):
    client = open_start_screen(tmp_path)
    choices = client.get("start").json()
    assert {"name": "kuhn", "about": choices["games"][2]["about"]} in choices["games"]
    assert "openspiel" not in [entry["name"] for entry in choices["games"]]  # its games lack a view
    assert (choices["game"], choices["last"]) == ("big2", None)
    game = client.get("players/kuhn_3p").json()
    specs = [player["spec"] for player in game["players"]]
    assert (game["seats"], specs[:2]) == (3, ["call", "uniform"])
    assert all(player["about"] for player in game["players"])
    assert client.get("view").json() is None
    against = ["call", "uniform"]
    assert client.post("begin", json={"game": "kuhn_3p", "against": against}).status_code == 200
    final_view = finish_hand(client)
    assert len(client.get("results").json()) == 1
    assert client.get("hands/text").text.startswith("kuhn_3p, hand 1\n")
    second = open_start_screen(tmp_path)  # as after a restart
    second.cookies = client.cookies
    last = {"game": "kuhn_3p", "against": "call, uniform", "hands": 1}
    assert second.get("start").json()["last"] == last
    del client
    gc.collect()  # releases the lock of the session's file
    assert second.get("view").json()["session"] == final_view["session"]


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
def test_only_listed_games_and_players_can_be_chosen(tmp_path, choice, status):
    client = open_start_screen(tmp_path, public=True)
    response = client.post("begin", json=choice)
    assert (response.status_code, list(response.json())) == (status, ["error"])
    assert client.get("results").status_code == 404  # results may be of other visitors
    assert client.get("view").json() is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
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
def test_wrong_settings_are_refused(get_refusal, arguments, message):
    table = {"game": {"name": "kuhn"}, "against": ["call"]}  # lacks `adviser`
    Path("damaged.jsonl").write_text(json.dumps({"session": "a", "seed": 1, "table": table}))
    Path("nested.jsonl").write_text("[" * 100_000)
    port = [] if any("port=" in argument for argument in arguments) else ["port=0"]
    refusal = get_refusal("play", *arguments, *port)
    assert refusal.startswith(message)
    assert len(refusal.splitlines()) == 1
    assert not Path("outputs").exists()


@pytest.mark.usefixtures("working_folder")
def test_port_in_use_is_refused(get_refusal):
    with create_listener("127.0.0.1", 0, False) as listener:
        port = listener.getsockname()[1]
        assert get_refusal("play", f"port={port}").startswith("host, port: Address already in use")
