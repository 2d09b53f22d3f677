"""The tables of `tidemark export --to parquet` in third-party engines: pyarrow reads every file, and the queries of
docs/reference/engines.md for DuckDB and Polars run as the page prints them. Their answers must be the figures of `tidemark
summary`. Usage: test_engines.py TIDEMARK, in an environment with duckdb, pyarrow and polars.

Exits with 77 if one of these is not installed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

try:
    import duckdb
    import polars
    import pyarrow.parquet
except ImportError as missing:
    print(f"skipped: {missing} (./dev pytorch makes an environment with them)", file=sys.stderr)
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "format"))
import parquet_reader  # noqa: E402

PAGE = (ROOT / "docs" / "reference" / "engines.md").read_text()
TIDEMARK = str(Path(sys.argv[1]).resolve())
SMALL = "profile --device virtual --d-model 64 --layers 2 --heads 2 --batch 2 --context 16".split()
RUNS = {
    ("base", 0): [*SMALL, "--steps", "3"],
    ("base", 1): [*SMALL, "--steps", "3", "--precision", "bf16-mixed"],
    ("base", 10): [*SMALL, "--steps", "4", "--recompute", "block"],
    ("other run", 0): "profile --device virtual --size small --steps 2 --warmup 0".split(),
    ("expandable", 0): "profile --device virtual --size small --steps 2 --warmup 0 --alloc-conf expandable_segments:True".split(),
}


def run(*arguments: object) -> str:
    return subprocess.run([TIDEMARK, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def make_lake() -> dict[tuple, dict]:
    """Writes lake/run=NAME/rank=N here, and returns the summary of each, by run, rank and device."""
    summaries = {}
    sources = dict(RUNS)
    for (name, rank), command in sources.items():
        run(*command, "-o", f"{name}-{rank}.json.gz")
    paths = {key: Path(f"{key[0]}-{key[1]}.json.gz") for key in sources}
    paths["three", 3] = ROOT / "tests/golden/snapshots/three-devices.pickle"
    for (name, rank), path in paths.items():
        run("export", path, "--to", "parquet", "-o", f"lake/run={name}/rank={rank}/")
        devices = parquet_reader.Table(Path(f"lake/run={name}/rank={rank}/devices.parquet")).rows["device"]
        for device in devices:
            summaries[name, rank, device] = json.loads(run("summary", path, "--device", device, "--steps", "--format", "json"))
    return summaries


def expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        sys.exit(f"{what}:\n  found  {found}\n  wanted {wanted}")
    print(f"{what}: ok")


def check_pyarrow() -> None:
    """Every value, as the reader of the standard library finds it, with checksums."""
    n_files = n_rows = 0
    for path in Path("lake").rglob("*.parquet"):
        own = parquet_reader.Table(path)
        table = pyarrow.parquet.read_table(path, partitioning=None, page_checksum_verification=True)
        table.validate(full=True)
        metadata = pyarrow.parquet.read_metadata(path)
        assert metadata.metadata[b"tidemark.format"] == b"tidemark-parquet", metadata.metadata
        kinds = {parquet_reader.INT64: "int64", parquet_reader.INT32: "int32", parquet_reader.BYTE_ARRAY: "string", parquet_reader.BOOLEAN: "bool"}
        for field in table.schema:
            assert (str(field.type), field.nullable) == (kinds[own.kinds[field.name]], own.optional[field.name]), (path, field)
            assert table.column(field.name).to_pylist() == own.rows[field.name], (path, field)
        n_files += 1
        n_rows += table.num_rows
    expect(f"pyarrow {pyarrow.__version__} reads {n_files} files, {n_rows} rows", n_rows > 10000, True)


def duckdb_answers() -> dict[str, list[tuple]]:
    section = PAGE.split("\n### DuckDB\n")[1].split("\n### ")[0]
    queries = dict(re.findall(r"```sql (\w+)\n(.*?)```", section, re.S))
    connection = duckdb.connect()
    return {name: connection.execute(query).fetchall() for name, query in queries.items()}


def polars_answers() -> dict[str, list[tuple]]:
    section = PAGE.split("\n### Polars\n")[1].split("\n## ")[0]
    names: dict = {}
    exec(re.search(r"```python\n(.*?)```", section, re.S)[1], names)  # noqa: S102
    return {name: names[name].rows() for name in ("peak", "growth", "fragmentation")}


def place_of(row: tuple) -> tuple:
    return (row[0], int(row[1]), row[2])


def check_answers(engine: str, answers: dict[str, list[tuple]], summaries: dict[tuple, dict]) -> None:
    expect(f"{engine}: names of the queries", sorted(answers), ["fragmentation", "growth", "peak"])
    figures = {place: summary["figures"] for place, summary in summaries.items()}
    total = sum(of["allocated_bytes"] for of in figures.values())
    expect(f"{engine}: bytes at the peaks of all ranks", sum(row[3] for row in answers["peak"]), total)
    expect(f"{engine}: blocks at these peaks", sum(row[4] for row in answers["peak"]), sum(of["blocks"] for of in figures.values()))
    expect(f"{engine}: the largest first", [row[3] for row in answers["peak"]], sorted((row[3] for row in answers["peak"]), reverse=True))
    lines: dict = defaultdict(int)  # by our own reader
    for folder in Path("lake").glob("run=*/rank=*"):
        peaks = {d["device"]: d["peak_event"] for d in parquet_reader.Table(folder / "devices.parquet").records()}
        for b in parquet_reader.Table(folder / "blocks.parquet").records():
            if b["birth_event"] <= peaks[b["device"]] and (b["free_event"] is None or b["free_event"] > peaks[b["device"]]):
                lines[b["file"], b["line"], b["function"]] += b["block_bytes"]
    expect(f"{engine}: bytes of {len(lines)} lines", {row[:3]: row[3] for row in answers["peak"]}, dict(lines))
    found = {place_of(row): tuple(row[3:]) for row in answers["fragmentation"]}
    wanted = {}
    for place, summary in summaries.items():
        if summary["figures"]["reserved_bytes"] > 0:
            account = {row["line"]: row["bytes"] for row in summary["tables"]["account"]["rows"]}
            n_reserved, n_allocated = summary["figures"]["reserved_bytes"], summary["figures"]["allocated_bytes"]
            split = (account["cached, splittable"], account["cached, releasable"])
            if place[0] in ("expandable", "three"):  # pieces of expandable segments are not the granules that can be released
                found[place] = found[place][:2]
                split = ()
            wanted[place] = (n_reserved, n_allocated, *split)
    expect(f"{engine}: fragmentation", found, wanted)
    steps: dict = defaultdict(list)
    for run_name, rank, device, step, end_bytes, growth in answers["growth"]:
        before = steps[run_name, int(rank), device]
        assert growth == (end_bytes - before[-1][1] if before else None), (run_name, rank, step, growth)
        before.append((step, end_bytes))
    stated = {}
    for place, summary in summaries.items():
        rows = summary["tables"].get("steps", {"rows": []})["rows"]
        measured = [(int(row["step"].split()[-1]), row["end_bytes"]) for row in rows if not row["step"].startswith("warmup")]
        if measured:
            stated[place] = measured
    expect(f"{engine}: ends of the steps", dict(steps), stated)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        summaries = make_lake()
        check_pyarrow()
        check_answers(f"DuckDB {duckdb.__version__}", duckdb_answers(), summaries)
        check_answers(f"Polars {polars.__version__}", polars_answers(), summaries)
        os.chdir("/")


main()
