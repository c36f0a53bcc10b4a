"""A headless Chromium that tests drive by the DevTools protocol over pipes: one for all tests of a process, and a tab of its
own, with its own cookies, for each. No test is here.

https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


class Navigated(Exception):
    """The page went away before it answered."""


class Browser:
    """A process of Chromium, and the pipes to it."""

    def __init__(self, profile: Path) -> None:
        ours, theirs = os.pipe(), os.pipe()  # (read, write) of what it is told, and of what it says
        script = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        command = [
            "bash", "-c", script, "bash", str(ours[0]), str(theirs[1]), str(CHROMIUM), "--headless", "--disable-gpu",
            "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={profile}",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []), "about:blank",
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, pass_fds=(ours[0], theirs[1]), **quiet)
        os.close(ours[0])
        os.close(theirs[1])
        self.out, self.into, self.buffer, self.number = ours[1], theirs[0], b"", 0

    def send(self, method: str, session: str = "", **parameters: Any) -> int:
        """Send a call, and return its number."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        return self.number

    def receive(self) -> Any:
        """Return the next message."""
        while b"\0" not in self.buffer:
            chunk = os.read(self.into, 1 << 20)
            assert chunk, "the browser has ended"
            self.buffer += chunk
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)


_running: list[Browser] = []


def _start(folder: Path) -> Browser:
    """Return the browser of this process; the first call starts it, with its profile in the folder."""
    if not _running:
        _running.append(Browser(folder / "profile"))
        atexit.register(_running[0].end)
    return _running[0]


class Tab:
    """A tab: what it asks for over the network, and what the browser says about its pages."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.asked: dict[str, str] = {}
        self.messages: list[str] = []
        self.session = ""
        self.context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method, and return its result; events that come before it are kept."""
        number = self.browser.send(method, self.session, **parameters)
        while True:
            told = self.browser.receive()
            if told.get("id") == number:
                if told.get("error", {}).get("message") == "Inspected target navigated or closed":
                    raise Navigated
                assert "error" not in told, told
                return told["result"]
            if told.get("sessionId") == self.session:
                self._keep(told)

    def close(self) -> None:
        """Close the tab, and forget its cookies."""
        self.session = ""
        self.call("Target.disposeBrowserContext", browserContextId=self.context)

    def _keep(self, told: Any) -> None:
        values = told.get("params", {})
        if told.get("method") == "Network.requestWillBeSent":
            self.asked[values["requestId"] + values["request"]["url"]] = values["request"]["url"]
        elif told.get("method") == "Network.loadingFailed" and values.get("blockedReason"):  # never sent
            self.asked = {name: url for name, url in self.asked.items() if not name.startswith(values["requestId"])}
        elif told.get("method") == "Log.entryAdded":
            self.messages.append(values["entry"]["text"])
        elif told.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
            self.messages.append(json.dumps(values))
        if told.get("method") == "Page.javascriptDialogOpening":  # nothing of the page runs before it is closed
            self.browser.send("Page.handleJavaScriptDialog", self.session, accept=True)

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        return list(self.asked.values())

    def forget(self) -> None:
        """Forget what was asked and said."""
        self.asked.clear()
        self.messages.clear()

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript."""
        return self.call("Runtime.evaluate", expression=expression, awaitPromise=True)["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        for _ in range(1000):
            with suppress(Navigated):
                if self.evaluate(expression):
                    return
            time.sleep(0.02)
        raise AssertionError(f"{expression}: {self.evaluate('document.body.innerText')}")

    def open(self, url: str) -> None:
        """Open a page, and wait until it has run."""
        self.call("Page.navigate", url=url)
        self.wait(f"document.readyState === 'complete' && location.href !== 'about:blank' && {len(url)} > 0")

    def press_enter(self) -> None:
        """Press Enter where the focus is."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)

    def resize(self, width: int, height: int = 900, *, mobile: bool = False) -> None:
        """Give the page a window of another size, in pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def screenshot(self, path: Path, width: int = 1200, height: int = 900, scheme: str = "light") -> None:
        """Take a picture of the whole page."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.resize(width, height, mobile=width < 600)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """Open a tab; names of hosts lead nowhere. A skip where there is no Chromium.

    folder: where the browser has its profile, if it is not running yet.
    """
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    opened = Tab(_start(folder))
    try:
        yield opened
    finally:
        opened.close()
