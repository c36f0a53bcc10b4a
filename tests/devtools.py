"""A headless Chromium that a test drives by the DevTools protocol over pipes. No test is here.

https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM


class Navigated(Exception):
    """The page went away before it answered."""


class Tab:
    """A tab: what it asks for over the network, and what the browser says about its pages."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.out, self.into, self.buffer, self.number = to_browser, from_browser, b"", 0
        self.asked: dict[str, str] = {}
        self.messages: list[str] = []
        self.session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method, and return its result; events that come before it are kept."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self.number:
                if told.get("error", {}).get("message") == "Inspected target navigated or closed":
                    raise Navigated
                assert "error" not in told, told
                return told["result"]
            self._keep(told)

    def _next(self) -> Any:
        while b"\0" not in self.buffer:
            chunk = os.read(self.into, 1 << 20)
            assert chunk, "the browser has ended"
            self.buffer += chunk
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

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
        for _ in range(400):
            with suppress(Navigated):
                if self.evaluate(expression):
                    return
            time.sleep(0.05)
        raise AssertionError(f"{expression}: {self.evaluate('document.body.innerText')}")

    def open(self, url: str) -> None:
        """Open a page, and wait until it has run."""
        self.call("Page.navigate", url=url)
        self.wait(f"document.readyState === 'complete' && location.href !== 'about:blank' && {len(url)} > 0")

    def press_enter(self) -> None:
        """Press Enter where the focus is."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)

    def screenshot(self, path: Path, width: int = 1200, height: int = 900, scheme: str = "light") -> None:
        """Take a picture of the whole page."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """Start a browser with one tab; names of hosts lead nowhere. A skip where there is no Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    ours, theirs = os.pipe(), os.pipe()  # (read, write) of what it is told, and of what it says
    script = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
    command = [
        "bash",
        "-c",
        script,
        "bash",
        str(ours[0]),
        str(theirs[1]),
        CHROMIUM,
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder}/profile",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        "about:blank",
    ]
    process = subprocess.Popen(command, pass_fds=(ours[0], theirs[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(ours[0])
    os.close(theirs[1])
    try:
        yield Tab(ours[1], theirs[0])
    finally:
        process.kill()
        process.wait()
        os.close(ours[1])
        os.close(theirs[0])
