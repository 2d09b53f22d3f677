#!/usr/bin/env python3
"""Makes a folder that any static host serves: make_site.py REPOSITORY VIEWER FOLDER

The documents become HTML in the same tree, where their relative links stay right; README.md of a folder is its index.html.
VIEWER, the page without data, becomes view.html. Pictures and other files of the repository that a document links to
are copied. All links are relative: the folder works from file:// and below any path. It needs markdown-it-py.

At the end every link and fragment is checked; the exit status is 1 if one leads nowhere.
"""
import html
import os
import posixpath
import re
import shutil
import sys
import urllib.parse
from html.parser import HTMLParser

from markdown_it import MarkdownIt

OWN = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
HERE = os.path.dirname(os.path.abspath(__file__))

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{root}site.css">
</head>
<body>
<header><nav aria-label="Site"><a href="{root}index.html">tidemark</a> <a href="{root}docs/index.html">Documents</a>
<a href="{root}view.html">Viewer</a></nav></header>
<main>
{body}
</main>
</body>
</html>
"""


def page_name(path):
    """The path of a document's page in the site."""
    folder, name = posixpath.split(path)
    return posixpath.join(folder, "index.html" if name == "README.md" else name[: -len(".md")] + ".html")


def slug(text, used):
    """The fragment that GitHub gives to a heading: `used` counts those of this document."""
    base = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    number = used.get(base, 0)
    used[base] = number + 1
    return f"{base}-{number}" if number else base


class Site:
    def __init__(self, repository, folder):
        self.repository, self.folder = repository, folder
        self.files = set()  # of the repository, that documents link to
        self.markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

    def documents(self):
        """Paths in the repository, with slashes."""
        found = list(OWN)
        for folder, _, names in os.walk(os.path.join(self.repository, "docs")):
            inner = os.path.relpath(folder, self.repository).replace(os.sep, "/")
            found += [posixpath.join(inner, name) for name in names if name.endswith(".md")]
        return sorted(found)

    def make_page(self, path):
        with open(os.path.join(self.repository, path), encoding="utf-8") as file:
            tokens = self.markdown.parse(file.read())
        used, title = {}, None
        for number, token in enumerate(tokens):
            if token.type == "heading_open":
                inner = tokens[number + 1]
                text = "".join(child.content for child in inner.children or [])
                token.attrSet("id", slug(text, used))
                title = title or text
            is_open = True  # the last link leads to something; links do not nest
            for child in token.children or []:
                if child.type == "link_close" and not is_open:
                    child.tag = "span"
                is_open = self.change_link(path, child) if child.type == "link_open" else is_open
                self.change_source(path, child)
            self.change_source(path, token)
            change_terminal(token)
        body = self.markdown.renderer.render(tokens, self.markdown.options, {})
        body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
        name = page_name(path)
        text = PAGE.format(title=html.escape(title or name), root="../" * name.count("/"), body=body)
        write(os.path.join(self.folder, name), text)

    def change_link(self, path, token):
        """Returns whether it stays a link: a folder of the repository has no page."""
        target = self.target(path, token.attrGet("href"))
        if target is None:
            token.tag, token.attrs = "span", {}
        else:
            token.attrSet("href", target)
        return target is not None

    def change_source(self, path, token):
        if token.type == "image":
            token.attrSet("src", self.target(path, token.attrGet("src")))
        elif token.type in ("html_inline", "html_block"):
            token.content = self.change_html(path, token.content)

    def change_html(self, path, text):
        def change(found):
            return f'{found[1]}="{self.target(path, found[2]) or ""}"'

        return re.sub(r'\b(href|src|srcset)="([^"]*)"', change, text)

    def target(self, path, link):
        """The link in the site. None: to a folder without a page."""
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            return link
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), urllib.parse.unquote(parts.path)))
        real = os.path.join(self.repository, target)
        if os.path.isdir(real) and os.path.exists(os.path.join(real, "README.md")):
            target = posixpath.join(target, "README.md")
        elif os.path.isdir(real):
            return None
        if target.endswith(".md") and (target.startswith("docs/") or target in OWN):
            target = page_name(target)
        else:
            self.files.add(target)
        start = posixpath.dirname(page_name(path)) or "."
        return urllib.parse.quote(posixpath.relpath(target, start)) + (f"#{parts.fragment}" if parts.fragment else "")

    def copy_files(self):
        for path in sorted(self.files):
            to = os.path.join(self.folder, path)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(os.path.join(self.repository, path), to)


def change_terminal(token):
    """Sentences that a command printed wrap, the rows of its tables do not."""
    if token.type == "fence" and token.content.startswith("$ "):
        lines = [html.escape(line, quote=False) for line in token.content.splitlines()]
        shown = "".join(f"{line}\n" if line.startswith("  ") or not line else f'<span class="said">{line}</span>' for line in lines)
        token.type, token.tag, token.content = "html_block", "", f"<pre><code>{shown}</code></pre>\n"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Links(HTMLParser):
    """The links and fragments of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.fragments = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.fragments.add(value)
            elif name in ("href", "src") and value is not None:
                self.links.append(value)


def check(folder):
    """The links that lead nowhere or are not relative, as sentences."""
    pages, wrong, n_links = {}, [], 0
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if name.endswith(".html") and path != os.path.join(folder, "view.html"):
                with open(path, encoding="utf-8") as file:
                    pages[path] = Links(file.read())
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme:
                continue
            n_links += 1
            place = os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path)) if parts.path else path
            target = os.path.normpath(place)
            if parts.path.startswith("/") or not os.path.isfile(target) or not target.startswith(folder + os.sep):
                wrong.append(f"{os.path.relpath(path, folder)}: {link} leads nowhere")
            elif parts.fragment and target in pages and parts.fragment not in pages[target].fragments:
                wrong.append(f"{os.path.relpath(path, folder)}: {link}: there is no such heading")
    return wrong, len(pages), n_links


def main(repository, viewer, folder):
    folder = os.path.abspath(folder)
    site = Site(repository, folder)
    for path in site.documents():
        site.make_page(path)
    site.copy_files()
    shutil.copyfile(viewer, os.path.join(folder, "view.html"))
    shutil.copyfile(os.path.join(HERE, "site.css"), os.path.join(folder, "site.css"))
    wrong, n_pages, n_links = check(folder)
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{folder}: {n_pages} pages and the viewer; {n_links} links within the site, {len(wrong)} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
