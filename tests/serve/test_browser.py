"""Pages in a browser: they render, forms work without scripts, nothing of a hostile text runs, no request leaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import ATTACK
from commands import text

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import uvicorn
from devtools import CHROMIUM, Tab, tab
from served import store_client

from ndcore.serve.keys import write_address
from ndcore.serve.pages import wrap_served
from ndcore.serve.server import bind, write_url

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

KEY = ATTACK.replace("\ud800", "")
PAGES = [(KEY, f"{KEY} {text(1)}", 1), (KEY + "2", f"{KEY} {text(1, 1)}", 2), ("plain", text(2), 3), ("copy", text(2), 4)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server in this process."""
    served = store_client(tmp_path_factory.mktemp("store"), PAGES).app
    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(served, lifespan="off", log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    yield write_url(bound).rstrip("/")
    server.should_exit = True
    thread.join(20)
    bound.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with tab(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture
def chromium(browser: Tab) -> Tab:
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    browser.call("Page.navigate", url="about:blank")
    browser.wait("location.href === 'about:blank'")
    browser.forget()
    return browser


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/clusters",
        "/unknown",
        *(str(write_address(route, key=KEY)) for route in ("document", "history", "locate")),
        str(write_address("compare", a=KEY, b=KEY + "2")),
        str(write_address("document", key=KEY + "3")),
    ],
)
def test_hostile_keys_and_texts(chromium: Tab, url: str, path: str) -> None:
    chromium.open(url + path)
    assert chromium.evaluate("document.querySelectorAll('main').length") == 1
    assert chromium.evaluate("document.title !== 'ran' && document.images.length === 0 && document.scripts.length === 1")
    assert chromium.evaluate("getComputedStyle(document.body).maxWidth") == "1216px"  # the style counts
    told = [message for message in chromium.messages if "status of 404" not in message]
    assert told == []  # nothing was tried that the policy forbids
    assert {request for request in chromium.requests if not request.startswith("about:")} <= {
        chromium.evaluate("location.href"),
        url + "/favicon.ico",
    }


def test_the_policy_stops_what_is_not_escaped(chromium: Tab, tmp_path: Path) -> None:
    source = wrap_served(
        "x",
        "<img src=http://evil.example/x onerror=\"document.title='ran'\"><script>document.title='ran'</script>"
        "<form action=http://evil.example/><button id=out></button></form>",
    )
    (tmp_path / "page.html").write_text(source, encoding="utf-8")
    chromium.open((tmp_path / "page.html").as_uri())
    chromium.evaluate("document.getElementById('out').click()")
    assert chromium.evaluate("document.title") == "x · ndcore"
    assert any("Content Security Policy" in message for message in chromium.messages)
    assert not any("evil" in request for request in chromium.requests)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_text_is_pasted(chromium: Tab, url: str, scripts: bool) -> None:
    chromium.call("Emulation.setScriptExecutionDisabled", value=not scripts)
    chromium.open(url + "/")
    chromium.evaluate("document.querySelector('textarea[name=text]').focus()")
    chromium.call("Input.insertText", text=text(2, 1))
    chromium.evaluate("document.querySelector('form.tall button').focus()")
    chromium.press_enter()
    chromium.wait("location.pathname === '/peek' && document.readyState === 'complete'")
    shown = chromium.evaluate("document.body.innerText")
    assert "Near-duplicate" in shown and "plain" in shown and "Marked differences" in shown
    assert chromium.evaluate("document.querySelector('textarea[name=text]').value") == text(2, 1)
    assert "changed0" in chromium.evaluate("[...document.querySelectorAll('mark')].map(x => x.textContent).join()")
    assert all(request.startswith((url, "about:")) for request in chromium.requests)


def test_a_page_of_another_site_is_refused(chromium: Tab, url: str, tmp_path: Path) -> None:
    source = f'<form id=f action="{url}/peek" method=post><input name=text value="{text(2)}"></form>'
    (tmp_path / "other.html").write_text(source, encoding="utf-8")
    chromium.open((tmp_path / "other.html").as_uri())
    chromium.evaluate("document.getElementById('f').submit()")
    chromium.wait("location.pathname === '/peek' && document.readyState === 'complete'")
    assert "403 Forbidden" in chromium.evaluate("document.body.innerText")


@pytest.mark.parametrize("width", [320, 1200])
def test_nothing_is_wider_than_the_page(chromium: Tab, url: str, width: int) -> None:
    chromium.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    for path in ("/", "/clusters", write_address("document", key="copy"), write_address("compare", a="plain", b=KEY)):
        chromium.open(url + str(path))
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width, path
    chromium.call("Emulation.clearDeviceMetricsOverride")


def test_every_field_has_a_label(chromium: Tab, url: str) -> None:
    for path in ("/", "/clusters", write_address("document", key="copy")):
        chromium.open(url + str(path))
        assert chromium.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), textarea')].every(each => "
            "each.labels.length || each.getAttribute('aria-label'))"
        )
        assert chromium.evaluate("document.querySelectorAll('h1').length") == 1
        assert chromium.evaluate("document.documentElement.lang") == "en"
