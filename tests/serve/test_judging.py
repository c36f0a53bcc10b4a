"""The page that takes answers: a secret, a cookie, an Origin; keys; pairs of hostile texts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import ATTACK, Tree
from judgedpairs import versions

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")

import uvicorn
from devtools import CHROMIUM, Tab, tab
from served import TestClient

from ndcore.judge import Measure, Session
from ndcore.serve.judging import COOKIE, judging_application, judging_page
from ndcore.serve.server import bind, write_url

HOME = "http://127.0.0.1"
ORIGIN = {"origin": HOME}


def session_of(hostile: bool = False) -> Session:
    texts = versions(3, 15)
    if hostile:
        texts = [f"{text} {ATTACK}" for text in texts]
    return Session(texts, [f"{i} {ATTACK if hostile else ''}" for i in range(len(texts))], measures=[Measure(width=2)])


@pytest.fixture
def session() -> Session:
    return session_of()


@pytest.fixture
def client(session: Session) -> TestClient:
    return TestClient(judging_application(session, "swordfish"), HOME, follow_redirects=False)


def admitted(client: TestClient) -> TestClient:
    answer = client.get("/?secret=swordfish")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    return client


def test_nothing_is_shown_or_taken_without_the_secret(client: TestClient, session: Session):
    for path in ("/", "/?secret=", "/?secret=wrong", "/?person=x"):
        answer = client.get(path)
        assert answer.status_code == 403
        assert "w0" not in answer.text
    for path in ("/answer", "/undo"):
        assert client.post(path, data={"label": "same", "number": "0"}, headers=ORIGIN).status_code == 403
    assert session.answered == ()


def test_the_secret_is_good_once(client: TestClient, session: Session):
    admitted(client)
    other = TestClient(client.app, HOME, follow_redirects=False)
    refused = other.get("/?secret=swordfish")
    assert refused.status_code == 403
    assert "another browser has used it" in refused.text
    other.cookies.set(COOKIE, "forged")
    assert other.get("/").status_code == 403
    assert client.get("/?secret=swordfish").status_code == 303  # the browser that has the cookie comes back


@pytest.mark.parametrize("headers", [{}, {"origin": "http://evil.example"}, {"origin": "null"},
                                     {**ORIGIN, "sec-fetch-site": "cross-site"}])
def test_answers_of_other_sites_are_refused(client: TestClient, session: Session, headers: dict[str, str]):
    admitted(client).get("/")
    answer = client.post("/answer", data={"label": "same", "number": "0"}, headers=headers)
    assert answer.status_code == 403
    assert session.findings().answers == 0


def test_another_host_is_refused(client: TestClient):
    assert admitted(client).get("/", headers={"host": "evil.example"}).status_code == 421


def test_an_answer_is_taken_and_taken_back(client: TestClient, session: Session):
    admitted(client)
    assert "Are these two the same?" in client.get("/?person=ann").text
    form = {"label": "different", "number": "0", "person": "ann", "note": "one\r\ntwo"}
    answer = client.post("/answer", data=form, headers=ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/?person=ann")
    [draw] = session.answered
    assert (draw.label, draw.note, draw.person) == ("different", "one\ntwo", "ann")
    assert client.post("/answer", data=form, headers=ORIGIN).status_code == 400  # sent twice
    assert client.post("/undo", data={"person": "ann"}, headers=ORIGIN).status_code == 303
    assert session.answered[0].label is None


@pytest.mark.parametrize("form", [
    {"label": "maybe", "number": "0"}, {"label": "same", "number": "x"}, {"label": "same", "number": "9"}, {},
    {"label": "same", "number": "0", "person": "x" * 101},
])
def test_answers_that_are_not_accepted(client: TestClient, session: Session, form: dict[str, str]):
    admitted(client).get("/")
    assert client.post("/answer", data=form, headers=ORIGIN).status_code == 400
    assert session.findings().answers == 0


def test_a_large_body_is_refused(client: TestClient):
    admitted(client)
    assert client.post("/answer", content=b"x" * (4 << 20), headers=ORIGIN).status_code == 413


def test_hostile_texts_and_names_are_escaped():
    tree = Tree(judging_page(session_of(hostile=True), "'\"><img src=x onerror=alert(1)><script>"))
    assert [tag for tag, _ in tree.elements].count("script") == 1
    assert "img" not in [tag for tag, _ in tree.elements]


@pytest.mark.parametrize(("run", "ribbons"), [("p q r", 1), ("p q", 0)])
def test_runs_of_three_words_are_marked(run: str, ribbons: int):
    session = Session([f"a b {run} c d", f"e f {run} g h"], measures=[Measure(width=1)])
    assert judging_page(session, "x").count('class="ribbon') == ribbons


# ---- in a browser


needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Session, Tab]]:
    """A server in this process, and a browser that has exchanged the secret."""
    session, bound = session_of(hostile=True), bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(judging_application(session, "sesame"), lifespan="off", log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    with tab(tmp_path) as opened:
        opened.open(f"{write_url(bound)}?secret=sesame")
        yield session, opened
    server.should_exit = True
    thread.join(20)
    bound.close()


def press(browser: Tab, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" and len(key) == 1 else "",
                     windowsVirtualKeyCode=ord(key[0].upper()))


def wait_for_pair(browser: Tab, number: int) -> None:
    """Wait until a pair is shown and its page hears keys: a key that comes before its script has run is lost."""
    browser.wait(f"document.querySelector('[name=number]')?.value === '{number}' && document.readyState === 'complete'")


@needs_browser
def test_pairs_are_judged_by_keyboard_alone(served: tuple[Session, Tab]):
    session, browser = served
    for number, key in enumerate("1232"):
        wait_for_pair(browser, number)
        if number == 3:
            press(browser, "n")
            assert browser.evaluate("document.activeElement.name") == "note"
            browser.call("Input.insertText", text="1 not sure")
            press(browser, "Escape")
        press(browser, key)
    wait_for_pair(browser, 4)
    assert [draw.label for draw in session.answered[:4]] == ["same", "different", "skip", "different"]
    assert session.answered[3].note == "1 not sure"
    press(browser, "u")
    wait_for_pair(browser, 3)
    assert session.answered[3].label is None
    assert browser.messages == []
    assert browser.evaluate("document.title") == "Judge pairs · ndcore"


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_page(served: tuple[Session, Tab], width: int):
    _, browser = served
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    browser.wait("document.querySelector('.judge') !== null")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    tops = browser.evaluate("[...document.querySelectorAll('.judge button')].map(b => b.getBoundingClientRect().top).join()")
    assert max(map(float, tops.split(","))) < 400
