"""A real Chromium that tests look at a page with: over its debugging pipe, so that nothing else is needed."""

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next((found for name in NAMES if (found := shutil.which(name))), None)
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe")


def needs_chromium(test):
    """A test that looks at a page in a browser: it is skipped without one, and may be left out by its mark."""
    reason = "no Chromium is installed: pages are not looked at in a browser"
    return pytest.mark.browser(pytest.mark.skipif(PROGRAM is None, reason=reason)(test))


class Page:
    """A page in a tab of its own."""

    def __init__(self, commands, answers, path, width, height):
        self._commands, self._answers, self._number, self._session = commands, answers, 0, None
        self.complaints, self.requests = [], []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self("Page.navigate", url=path.as_uri())
        self.run("new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))")
        # The figures are drawn when their place is known.
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def __call__(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def run(self, script):
        """The value of an expression in the page."""
        found = self("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def mouse(self, kind, x, y, button="none"):
        self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=int(kind != "mouseMoved"))

    def _read(self):
        message = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "Chromium has ended"
            message += byte
        found = json.loads(message)
        match found.get("method"):
            case "Runtime.exceptionThrown" | "Runtime.consoleAPICalled":
                self.complaints.append(found["params"])
            case "Log.entryAdded":
                self.complaints.append(found["params"]["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(found["params"]["request"]["url"])
        return found


@contextmanager
def opened(path, *, width, height=900):
    """The page of a file, as a window of this size shows it."""
    (from_us, to_us), folder = (os.pipe(), os.pipe()), tempfile.mkdtemp()
    theirs = (from_us[0], to_us[1])

    def at_their_places():
        # The program reads commands from 3 and answers on 4. Ours may have these numbers themselves.
        copies = [os.dup(os.dup(one)) for one in theirs]
        for copy, place in zip(copies, (3, 4), strict=True):
            os.dup2(copy, place)

    process = subprocess.Popen(
        [PROGRAM, *_FLAGS, f"--user-data-dir={folder}"], preexec_fn=at_their_places, close_fds=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    for end in theirs:
        os.close(end)
    try:
        with os.fdopen(from_us[1], "wb") as commands, os.fdopen(to_us[0], "rb") as answers:
            page = Page(commands, answers, path, width, height)
            yield page
            page._session = None
            with suppress(AssertionError, OSError):
                page("Browser.close")
    finally:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
