"""The table of ./dev published, its page and its picture, of made rows."""
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import rows  # noqa: E402
from judge import Judged  # noqa: E402
from picture import picture  # noqa: E402
from table import check, family, fit_verdicts, page, percent, quantile, read, write  # noqa: E402
from uncovered import count  # noqa: E402


def need(condition, *what):
    if not condition:
        sys.exit("WRONG: " + " ".join(str(part) for part in what))


def made(program="net", kind="allocated", published="100", tidemark="100", difference="+0.000", verdict="exact", reason="", same="yes", unit="MiB",
         source="linkedin/Liger-Kernel benchmark/data"):
    return Judged(source, program, "b 1", "a100-80", kind, kind, unit, published, tidemark, difference, verdict, reason, same, "2.14")


def rows_of_a_wall():
    return [made(), made("wide", tidemark="130", difference="+30.000", verdict="off", reason="a work area"),
            made("other", tidemark="10", difference="-90.000", verdict="off", reason="x", same="another version"),
            made("batch", "fits", "64", "48", "", "near", "near the limit: 3 MiB lacking", unit="images"),
            made("unknown", tidemark="failed", difference="", verdict="failed", reason="no such model"),
            made("timed", "time", "10", "11", "+10.000", "right", unit="ms"), made("slow", "time", "10", "15", "+50.000", "off", "unexplained", unit="ms")]


def check_page():
    text = page(rows_of_a_wall())
    off, totals = text.index("## Rows that are off"), text.index("## Totals and targets")
    need(off < totals, "rows that are off come first")
    need(off < text.index("| wide | b 1 |") < text.index("| other | b 1 |") < totals, "the same programs first")
    need("| allocated peak within 0.1 %, same program | 3 | 33.3 %; 1 to the byte | 90 % |" in text,
         "programs that differ do not count, and those that do not run are misses", text)
    need("; 1 more whose program did not run" in text and "| 1 | no such model |" in text, "programs that did not run", text)
    need("with 34 of these rows in view) | 1 | 0.0 %; 1 more are near the limit | 97 % |" in text, "verdicts", text)
    need("| Liger timed | 1 | 10.0 | 10.0 | +10.0 |" in text and "| all | 2 | 30.0 | 50.0 | +30.0 |" in text, "times", text)
    need("| Liger slow | time | 1 | 50.0 | unexplained |" in text, "reasons of times", text)


def check_figures():
    need(quantile([3, 1, 2], 0.9) == 3 and quantile([5], 0.5) == 5 and percent(1, 0) == "-", "figures")
    batches = [made(kind="fits", published="64", tidemark=tidemark) for tidemark in ("48", "64", "96")]
    need(fit_verdicts(batches) == [False, True, True, True, True, False],
         "two verdicts for each batch")
    timm = made(source="huggingface/pytorch-image-models results/benchmark-infer-amp-nchw-pt291-cu128-4090.csv")
    need([family(made(f"softmax {provider}", kind)) for provider, kind in (("liger", "time"), ("liger", "allocated"), ("huggingface", "time"))] ==
         ["Liger Triton softmax", "Liger softmax", "Liger softmax"], "times of Triton kernels are a family of their own")
    need(family(timm) == "timm inference a100-80" and family(made(source="pytorch/torchtitan@b5bcd76c:x")) == "torchtitan", family(timm))


def check_picture():
    """It is valid, each row with two numbers is a dot of a panel, and each with a difference one of the strip."""
    text = picture(rows_of_a_wall(), family)
    tree = xml.fromstring(text)
    dots = [mark for mark in tree.iter("{http://www.w3.org/2000/svg}circle")]
    need(len(dots) == 2 + 5 + 5, len(dots))
    need("prefers-color-scheme:dark" in text, "dark pages")
    need(xml.fromstring(picture([], family)) is not None, "no rows")


def check_uncovered():
    """A row is counted if no recipe takes it, or if its recipe says that no run answers it."""
    class Some:
        def matches(self, row):
            return row.program == "taken"

        def kind(self, row):
            return rows.kind(row.what)

    def row(program, what="peak memory", source="a/b@1:c", card="a100-80", value="1"):
        return rows.Row(source, program, "x", card, what, value, "GB")

    liger = "linkedin/Liger-Kernel benchmark/data"
    found = count([row("taken"), row("taken", "work area"), row("other"), row("net", "step time", card="RTX PRO 6000 Max-Q"), row("net", value=""),
                   row("softmax liger", "speed full", liger), row("fused_neighborhood_attention torch", "speed full", liger)], [Some()])
    need(all(line[3] == "7" and line[2] == "1" for line in found) and len(found) == 6, found)
    for word in ("a work area's size", "not written yet", "has no source", "no value", "the host's alone"):
        need(any(word in line[1] for line in found), word, found)
    need({line[0] for line in found} == {"a/b", "linkedin/Liger-Kernel"}, found)


def check_files():
    """What is written is read again, and a page that was changed by hand is found."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "results"
        folder.mkdir()
        write(rows_of_a_wall(), folder)
        need(read(folder / "published.tsv") == rows_of_a_wall() and check(folder) == 0, "written and read")
        counted = [("a/b", "not written yet", "3", "40"), ("c/d", "no value is published", "1", "40")]
        write(rows_of_a_wall(), folder, counted)
        text = (folder / "published.md").read_text()
        need("4 of 40 rows that were collected match no recipe:" in text and "| a/b | 3 | not written yet |" in text, "rows without a recipe", text)
        need(check(folder) == 0, "the page with rows that have no recipe")
        (folder / "published.md").write_text("by hand")
        need(check(folder) == 1, "a changed page")


for one in (check_page, check_figures, check_picture, check_uncovered, check_files):
    one()
