# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, spoken to over a pipe in its debugging protocol: pages as readers see them.

One process serves all tests. What a page writes to its console, and what it throws, is kept, and so
is every request for anything but a file.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

#: Wherever the wait for the browser ends; a machine under load is slow.
_PATIENCE = 60.0
_SWITCHES = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio"),
    *("--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    *("--force-color-profile=srgb", "--font-render-hinting=none", "--remote-debugging-pipe"),
)

#: The protocol's ends are descriptors 3 and 4 of the browser.
_START = """
import os, sys
ends = [os.dup(int(word)) for word in sys.argv[1:3]]
high = [os.dup2(end, 200 + n) for n, end in enumerate(ends)]
for number, end in zip((3, 4), high):
    os.dup2(end, number, inheritable=True)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def executable() -> str:
    """Return Debian's chromium, or what a developer's machine has of its kind."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    raise FileNotFoundError("no chromium; tools/system_packages.sh tests installs it")


class Browser:
    """A process, and the pipe to it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pyptx-browser-")
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", _START, str(to_read), str(to_write)),
                *(executable(), *_SWITCHES, f"--user-data-dir={self._folder.name}"),
            ],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._folder.name},
        )
        os.close(to_read)
        os.close(to_write)
        self._number = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            self.send("Browser.close")
            self._process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Ask for something and return the answer; what else comes meanwhile goes to `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            if "method" in answer:
                self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser went away" if ready else "no answer")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(line))

    def page(self, width: int = 1500, height: int = 950) -> Page:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, target, session, (width, height))


class Page:
    """A tab."""

    def __init__(self, browser: Browser, target: str, session: str, size: tuple[int, int]) -> None:
        self._browser, self._target, self._session = browser, target, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")
        self.resize(*size)

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **params)

    def resize(self, width: int, height: int, scale: float = 1) -> None:
        self._send(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False},
        )

    def prefer(self, scheme: str) -> None:
        """Have the system be "dark" or "light"."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._send("Emulation.setEmulatedMedia", features=[feature])

    def open(self, path: Path) -> None:
        """Load a file and wait until its scripts have run."""
        self._send("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("document.readyState === 'complete'")

    def wait_for(self, condition: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not self.js(condition):
            if time.monotonic() > end:
                raise AssertionError(f"never came: {condition}; console: {self.errors()}")
            time.sleep(0.01)

    def js(self, expression: str) -> Any:
        """Evaluate an expression; a promise is waited for."""
        done = self._send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in done:
            raise AssertionError(done["exceptionDetails"]["exception"].get("description", done))
        return done["result"].get("value")

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def key(self, key: str, text: str = "") -> None:
        """Press a key; one that writes a character is that character."""
        text = key if len(key) == 1 else text
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self._send("Input.dispatchKeyEvent", type=kind, key=key, **extra)
        self.settle()

    def write(self, text: str) -> None:
        self._send("Input.insertText", text=text)
        self.settle()

    def mouse(self, selector: str, *, click: bool = False) -> None:
        """Point at the middle of what stands first under a selector; click it where asked."""
        place = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "if (!e) return null; const b = e.getBoundingClientRect();"
            "return [b.left + Math.min(b.width / 2, 60), b.top + b.height / 2]; })()"
        )
        assert place, f"nothing is {selector}"
        self.mouse_at(*place, click=click)

    def mouse_at(self, x: float, y: float, *, click: bool = False) -> None:
        at = {"x": x, "y": y}
        self._send("Input.dispatchMouseEvent", type="mouseMoved", **at)
        if click:
            button = {"button": "left", "clickCount": 1}
            self._send("Input.dispatchMouseEvent", type="mousePressed", **at, **button)
            self._send("Input.dispatchMouseEvent", type="mouseReleased", **at, **button)
        self.settle()

    def screenshot(self, path: Path) -> None:
        self.settle()
        data = self._send("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def errors(self) -> list[str]:
        """Return what the page threw, wrote to its console, or asked the network for."""
        self.js("1")  # what has happened until now is in by then
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            params, method = event["params"], event["method"]
            if method == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"].get("exception", params)))
            elif method == "Runtime.consoleAPICalled":
                found.append(str([one.get("value") for one in params["args"]]))
            elif method == "Log.entryAdded":
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "about:", "data:")):
                    found.append(f"a request for {url}")
        return found

    def close(self) -> None:
        self._browser.send("Target.closeTarget", targetId=self._target)
