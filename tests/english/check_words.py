"""Finds words that a native engineer would not write: check_words.py ROOT [FOLDER...]

It reads comments and strings of C, CUDA, Python and JavaScript, and the text of documents outside of code. Without a
FOLDER it reads the whole project without UNREAD. Exceptions have a reason.
"""
import io
import pathlib
import re
import subprocess
import sys
import tokenize

# Each word, and what to write in its place.
WORDS = {
    r"told|tells?|telling": "print, report, return, show; 'told apart' is 'distinguished'",
    r"(?<!left )(?<!leave )(?<!leaves )(?<!none )behind": "after, of order or time",
    r"lies|lying": "is in, is at, points to",
    r"nobody|no one|anybody": "the subject that acts, or the passive",
    r"stands? for": "represents, means",
    r"of ours|of the user's": "our, the user's",
    r"given back|gives back|give back": "freed, released, returned",
    r"as far as is known": "if known",
    r"works? out|worked out": "computes, computed",
}
FOUND = re.compile("|".join(rf"\b(?:{words})\b" for words in WORDS), re.IGNORECASE)

# Path: why it is not read.
UNREAD = {
    "CHANGELOG.md": "what was written of earlier versions stays",
    "tests/english": "the words themselves",
    **{f"python/tidemark/{name}.py": "to be deleted" for name in ("masks", "regions", "scaling", "shadow")},
}

# (file, text on the line): why the word is right there.
EXCEPTIONS = {
    ("cli/summary/origin.h", "line of the user's program"): "the line of a program, not a thing of the user's",
    ("cli/summary/view.h", "file of the user's"): "a file of rules, over two lines",
}

C_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def c_texts(source):
    for match in C_TEXT.finditer(source):
        yield source.count("\n", 0, match.start()) + 1, match[0]


def python_texts(source):
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


def document_texts(source):
    yield 1, CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


READERS = {".c": c_texts, ".h": c_texts, ".cu": c_texts, ".cpp": c_texts, ".def": c_texts, ".js": c_texts,
           ".mjs": c_texts, ".py": python_texts, ".md": document_texts}


def findings(path, source):
    """Line, word and line of text of each word that is found."""
    for first, text in READERS[path.suffix](source):
        for match in FOUND.finditer(text):
            line = first + text.count("\n", 0, match.start())
            yield line, match[0], source.splitlines()[line - 1].strip()


def advice(word):
    return next(better for words, better in WORDS.items() if re.fullmatch(words, word, re.IGNORECASE))


def unexpected(name, source, used):
    """What is found in a file beside the exceptions, which are added to `used`."""
    for line, word, text in findings(pathlib.Path(name), source):
        allowed = [each for each in EXCEPTIONS if each[0] == name and each[1] in text]
        used.update(allowed)
        if not allowed:
            yield f"{name}:{line}: '{word}' ({advice(word)}): {text}"


def main():
    root = pathlib.Path(sys.argv[1])
    folders = sys.argv[2:] or [".", *(f":!{path}" for path in UNREAD)]
    listed = subprocess.run(["git", "ls-files", *folders], cwd=root, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if pathlib.Path(name).suffix in READERS]
    used = set()
    found = [words for name in names for words in unexpected(name, (root / name).read_text(), used)]
    found += [f"{file}: no exception is needed for {part!r}" for file, part in EXCEPTIONS
              if not sys.argv[2:] and (file, part) not in used]
    if found:
        print(*found, f"{len(found)} words to say otherwise", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
