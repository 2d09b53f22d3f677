"""Firefox opens a report and shows its headline and the memory map: firefox.py TIDEMARK. Status 77 without Firefox.

It speaks Firefox' own protocol for tests, Marionette: each message is "LENGTH:JSON", of [0, number, command, arguments] to the
browser and [1, number, error, result] back.
"""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

WAIT_S = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, ask):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        found = ask()
        if found:
            return found
        time.sleep(0.2)
    sys.exit(f"failed: {what}: not within {WAIT_S} s")


class Firefox:
    def __init__(self, program, folder):
        port = free_port()
        (folder / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
        self.process = subprocess.Popen([program, "--headless", "--marionette", "--profile", str(folder)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = until("Firefox listens", lambda: self.connected(port))
        self.stream = self.socket.makefile("rb")
        self.number = 0
        self.receive()  # it names itself first
        self.call("WebDriver:NewSession", {})

    def connected(self, port):
        if self.process.poll() is not None:
            sys.exit(f"failed: Firefox ended with status {self.process.returncode}")
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            return None

    def receive(self):
        length = b""
        while not length.endswith(b":"):
            length += self.stream.read(1)
        return json.loads(self.stream.read(int(length[:-1])))

    def call(self, command, arguments):
        self.number += 1
        message = json.dumps([0, self.number, command, arguments]).encode()
        self.socket.sendall(b"%d:%b" % (len(message), message))
        _, _, error, result = self.receive()
        if error is not None:
            sys.exit(f"failed: {command}: {error['message']}")
        return result

    def value(self, script):
        return self.call("WebDriver:ExecuteScript", {"script": f"return {script}", "args": []})["value"]

    def end(self):
        self.process.terminate()
        self.process.wait(WAIT_S)


def check(firefox, page):
    firefox.call("WebDriver:Navigate", {"url": page.as_uri()})
    headline = until("a headline", lambda: firefox.value(
        "document.documentElement.dataset.ready === 'yes' && document.getElementById('headline').textContent"))
    if not headline.startswith("Peak "):
        sys.exit(f"failed: the headline is {headline!r}")
    firefox.value("[...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent === 'Memory map').click()")
    print(until("the memory map", lambda: firefox.value(r"document.body.innerText.match(/[^\n]* reserved in \d+ segments[^\n]*/)?.[0]")))


def main():
    program = shutil.which("firefox") or shutil.which("firefox-esr")
    if program is None:
        print("skipped: firefox is absent")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for command in ("profile --size small --device virtual:h100-80 --warmup 0 --steps 2 -o run.json.gz",
                        "view run.json.gz -o run.html"):
            subprocess.run([pathlib.Path(sys.argv[1]).resolve(), *command.split()], cwd=folder, check=True, capture_output=True)
        (folder / "profile").mkdir()
        firefox = Firefox(program, folder / "profile")
        try:
            check(firefox, folder / "run.html")
        finally:
            firefox.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
