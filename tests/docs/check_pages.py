"""Pages are listed, and links lead to pages: check_pages.py ROOT

docs/README.md lists every page of docs/, and every result is listed there or in docs/results/README.md. A link in a
document leads to a file of the tree, and to a heading of that file if it names one. A page that any file of the tree
names by its path from the root exists.
"""
import os
import pathlib
import re
import sys

CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"(?<![\w/.-])docs/[a-z0-9/-]+\.md")
READ = {".c", ".cmake", ".cu", ".def", ".h", ".js", ".md", ".mjs", ".py", ".sh", ".stderr", ".stdout", ".txt", ""}


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith(".") and each not in ("build", "node_modules")]
        yield from (pathlib.Path(folder, name) for name in names)


def text_of(page):
    """The text of a page outside of code."""
    return CODE.sub("", page.read_text(encoding="utf-8"))


def links_of(page):
    """Each link to a file: as written, the file, and the heading or ""."""
    for link in LINK.findall(text_of(page)):
        if "://" not in link:
            path, _, heading = link.partition("#")
            yield link, pathlib.Path(os.path.normpath(page.parent / path)) if path else page, heading


def headings_of(page):
    """The names by which links reach the headings of a page, as GitHub makes them."""
    for heading in re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        yield re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def complaints(root):
    docs = root / "docs"
    lists = [docs / "README.md", docs / "results" / "README.md"]
    results = {target for _, target, _ in links_of(lists[1]) if target.parent == lists[1].parent}
    direct = {target for _, target, _ in links_of(lists[0])}
    for page in sorted(docs.rglob("*.md")):
        if page != lists[0] and page not in direct | results:
            yield f"docs/README.md does not list {page.relative_to(root)}"
        if page.parent == docs and page != lists[0]:
            yield f"{page.relative_to(root)} is in no room of docs/"
    for page in [*root.glob("*.md"), *sorted(docs.rglob("*.md"))]:
        for link, target, heading in links_of(page):
            if not target.exists():
                yield f"{page.relative_to(root)}: the link {link} leads to no file"
            elif heading and target.suffix == ".md" and heading not in headings_of(target):
                yield f"{page.relative_to(root)}: the link {link} leads to no heading"
    for file in files_of(root):
        if file.suffix in READ:
            for name in NAMED.findall(file.read_text(encoding="utf-8", errors="replace")):
                if not (root / name).exists():
                    yield f"{file.relative_to(root)}: {name} does not exist"


def main():
    found = list(complaints(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
