#!/usr/bin/env python3
"""Checks the maker of the site: test_site.py REPOSITORY VIEWER

Without markdown-it-py it is skipped (status 77). The viewer is opened in Chromium where that is installed.
"""
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

REPOSITORY, VIEWER = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path.insert(0, os.path.join(REPOSITORY, "docs/site"))
try:
    import make_site
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

CHROMIUM = shutil.which("chromium-headless-shell")


def dom(address):
    """The page after its scripts have run."""
    done = subprocess.run([CHROMIUM, "--no-sandbox", "--virtual-time-budget=8000", "--dump-dom", address],
                          capture_output=True, text=True, timeout=120)
    return done.stdout


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def make(self, text):
        """A site of one document beside a second one; returns the status and the page."""
        for name, content in (("README.md", text), ("CHANGELOG.md", "# C"), ("CONTRIBUTING.md", "# C\n\n## A `b` c!\n\n## A b c"),
                              ("docs/README.md", "# D\n\n[up](../README.md)"), ("docs/a/run.py", "print()")):
            make_site.write(os.path.join(self.folder, "from", name), content)
        to = os.path.join(self.folder, "to")
        status = make_site.main(os.path.join(self.folder, "from"), VIEWER, to)
        with open(os.path.join(to, "index.html")) as file:
            return status, file.read()

    def test_links_lead_to_pages_and_files(self):
        status, page = self.make("# T & U\n\n[d](docs) [h](CONTRIBUTING.md#a-b-c-1) [f](docs/a/run.py) [n](docs/a/) "
                                 "[w](https://a.example/x.md)\n\n|a|\n|-|\n|b|\n")
        self.assertEqual(status, 0)
        for text in ("<title>T &amp; U</title>", 'href="docs/index.html"', 'href="CONTRIBUTING.html#a-b-c-1"',
                     'href="docs/a/run.py"', "<span>n</span>", 'href="https://a.example/x.md"', '<div class="wide"><table>'):
            self.assertIn(text, page)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "to/docs/a/run.py")))

    def test_sentences_of_a_terminal_wrap_and_tables_do_not(self):
        _, page = self.make("# T\n\n```\n$ run <x\nit fits\n\n  a  b\n```\n\n```\nint x;\n```\n")
        self.assertIn('<span class="said">$ run &lt;x</span><span class="said">it fits</span>\n  a  b\n</code>', page)
        self.assertIn("<pre><code>int x;\n", page)

    def test_a_wrong_fragment_is_found(self):
        self.assertEqual(self.make("# T\n\n[h](CONTRIBUTING.md#not-there)")[0], 1)

    def test_a_wrong_link_is_found(self):
        self.make("# T")
        make_site.write(os.path.join(self.folder, "to/docs/x.html"), '<a href="/index.html">a</a><a href="gone.html">b</a>')
        self.assertEqual(len(make_site.check(os.path.join(self.folder, "to"))[0]), 2)

    @unittest.skipUnless(CHROMIUM, "chromium-headless-shell is absent")
    def test_the_viewer_opens_from_a_file_and_below_a_path(self):
        self.make("# T")
        quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=self.folder))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for place in (f"file://{self.folder}/to", f"http://127.0.0.1:{server.server_address[1]}/to"):
            shown = dom(place + "/view.html")
            self.assertIn('<main id="empty">', shown, place)  # no longer hidden: the page has started
            self.assertIn("<p>Files that <code>tidemark run</code> and", shown, place)
            self.assertIn("<h1", dom(place + "/docs/index.html"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
