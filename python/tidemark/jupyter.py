"""The cell magic %%tidemark: runs a cell as a separate, recorded program and shows the report.

    %load_ext tidemark

    %%tidemark --device virtual:h100-80
    import torch
    x = torch.zeros(1000, 1000, device="cuda")
"""
import base64
import html
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading

from .__main__ import find_program

MAX_SHOWN_BYTES = 64 << 20  # of a report: it becomes a part of the notebook
MAX_LINKED_BYTES = 16 << 20  # of a file that a link holds: a part of the notebook, too
HEIGHT_PIXELS = 720

_PREFIX = "tidemark run: "
_frame = (
    '<iframe srcdoc="{page}" width="100%" height="{height}" style="border: 0" title="report of tidemark"></iframe>'
)


def load(ipython):
    """Registers the magic in an IPython shell."""
    ipython.register_magic_function(run_cell, "cell", "tidemark")


def run_cell(line, cell):
    """Runs the cell as a separate program, recorded by `tidemark run`. Shows the answer, the report, and links that
    download the report and the snapshot.

    %%tidemark [OPTION...]

    The options are those of `tidemark run`, such as --device virtual:h100-80, --steps 3 or -o
    FILE.json.gz, which keeps the snapshot. The program runs with the interpreter and in the folder of
    the notebook. The program does not see the variables of the notebook, nor the notebook those of the
    program.
    """
    from IPython.core.error import UsageError
    from IPython.display import display

    program = find_program()
    if program is None:
        raise UsageError("the program tidemark is missing: install tidemark-gpu from a wheel")
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        script, report = os.path.join(folder, "cell.py"), os.path.join(folder, "report.html")
        with open(script, "w", encoding="utf-8") as file:
            file.write(cell)
        words = {report: "below"}  # text to print in place of a path that is removed afterwards
        options = [*shlex.split(line), "--html", report]
        snapshot = _find_output(options)
        if snapshot is None:
            snapshot = os.path.join(folder, "cell.json.gz")
            words[snapshot] = "linked there (-o FILE.json.gz keeps it as a file)"
            options += ["-o", snapshot]
        status, answer = _run([program, "run", *options, "--", sys.executable, script], words)
        if os.path.exists(report):
            name = os.path.basename(snapshot).removesuffix(".gz").removesuffix(".json")
            files = [(report, f"{name}.html", "text/html"), (snapshot, f"{name}.json.gz", "application/gzip")]
            shown = _list(answer) + _show(report) + _link(files)
            display({"text/html": shown, "text/plain": "\n".join(answer)}, raw=True)
        else:
            sys.stderr.write("".join(f"{_PREFIX}{sentence}\n" for sentence in answer))
    if status != 0:
        raise UsageError(f"the cell ended with status {status}")


def _find_output(options):
    """The snapshot of -o or --output; None without the option."""
    for option, value in zip(options, [*options[1:], None]):
        if option in ("-o", "--output"):
            return value
        if option.startswith("--output=") or (option.startswith("-o") and not option.startswith("--")):
            return option.removeprefix("--output=").removeprefix("-o")
    return None


def _run(command, words):
    """Returns the exit status, and the sentences of `tidemark run`. The notebook shows the program's own output like that
    of a cell, with the keys of `words` replaced."""
    here = [os.getcwd(), os.environ.get("PYTHONPATH", "")]  # the cell imports modules from the notebook's folder
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, here)), "PYTHONUNBUFFERED": "1"}
    child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    answer = []
    threads = [threading.Thread(target=_pass_on, args=arguments) for arguments in
               ((child.stdout, sys.stdout, words, None), (child.stderr, sys.stderr, words, answer))]
    for thread in threads:
        thread.start()
    try:
        status = child.wait()
    except KeyboardInterrupt:  # the program gets the signal, and its recording still becomes a report
        child.send_signal(signal.SIGINT)
        status = child.wait()
    finally:
        for thread in threads:
            thread.join()
    return status, answer


def _pass_on(source, to, words, answer):
    for text in source:
        for path, word in words.items():
            text = text.replace(path, word)
        if answer is None or not text.startswith(_PREFIX):
            to.write(text)
            to.flush()
        elif not text.startswith(_PREFIX + "logs of "):  # of other runs
            answer.append(text[len(_PREFIX):].rstrip("\n"))


def _list(answer):
    """The sentences, the first one as the heading."""
    items = [html.escape(sentence) for sentence in answer]
    rest = "".join(f"<li>{item}</li>" for item in items[1:])
    return "".join(f"<p><b>{item}</b></p>" for item in items[:1]) + (f"<ul>{rest}</ul>" if rest else "")


def _link(files):
    """Links that download files, which they hold themselves. files: (path, name, media type); several processes write
    snapshots of other names, and those have no link."""
    links = []
    for path, name, media in files:
        if os.path.exists(path) and os.path.getsize(path) <= MAX_LINKED_BYTES:
            with open(path, "rb") as file:
                data = base64.b64encode(file.read()).decode()
            name = html.escape(name, quote=True)
            links.append(f'<a download="{name}" href="data:{media};base64,{data}">{name}</a>')
    return f"<p>Download: {', '.join(links)}</p>" if links else ""


def _show(report):
    """The page, in its own frame, for the notebook."""
    n_bytes = os.path.getsize(report)
    if n_bytes > MAX_SHOWN_BYTES:
        return (f"<p>The report has {n_bytes >> 20} MiB, which is too much for a notebook: keep the snapshot "
                "with -o FILE.json.gz, and run <code>tidemark view FILE.json.gz</code>.</p>")
    with open(report, encoding="utf-8") as file:
        page = html.escape(file.read(), quote=True)
    return _frame.format(page=page, height=HEIGHT_PIXELS)
