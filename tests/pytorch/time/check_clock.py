#!/usr/bin/env python3
"""`tidemark run --clock virtual` with a real PyTorch: check_clock.py TIDEMARK PYTHON.

The times that clock_program.py prints are compared with `tidemark time` of the launch log of the same run.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SPAN_S = 0.1  # of clock_program.py
MOST_S = 600  # of a run that hangs
MOST_WAIT_S = 100  # below the minutes that the program's clock is ahead, and more than a busy machine takes
# An elapsed time is a float, of less than 1024 ms: 24 bits. Sums of doubles lose less.
FLOAT_MS = 1024 / (1 << 24)


def product_ms(document):
    """The forecast of one product: the log's only kernels of that kind, which are all alike."""
    products = [row for row in document["tables"]["kernels"]["rows"] if row["kernel"].startswith("GEMM")]
    assert len(products) == 1, products
    return products[0]["ms"] / products[0]["launches"]


def check_loop(loop, card_ms):
    """The card has work from the first launch to the last product's end. The host needs less than `issued` from the first
    record to the first launch, and from its first look at a clock to the first record."""
    extra = loop["event"] - card_ms
    assert -FLOAT_MS <= extra <= loop["issued"] + FLOAT_MS, f"events say {loop['event']} ms, the forecast {card_ms} ms: {loop}"
    for clock in "perf_counter", "monotonic", "time":
        # time.time() is a double with 0.24 us.
        assert loop[clock] >= loop["event"] - FLOAT_MS - 5e-4, f"{clock} says less than events: {loop}"


def main(tidemark, python):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "clock.launches")
        environment = {**os.environ, "XDG_CONFIG_HOME": folder}  # no calibration
        began = time.monotonic()
        run = subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "--clock", "virtual", "--launch-log", log, "-o",
                              os.path.join(folder, "s.json.gz"), "--", python, os.path.join(HERE, "clock_program.py")],
                             capture_output=True, text=True, env=environment, timeout=MOST_S)
        real_s = time.monotonic() - began
        assert run.returncode == 0, run.stderr
        assert "the program's clock was a forecast" in run.stderr and "0 are guessed" in run.stderr, run.stderr
        seen = json.loads(run.stdout.splitlines()[-1])
        report = subprocess.run([tidemark, "time", log, "--format", "json"], capture_output=True, text=True, check=True,
                                env=environment)
    document = json.loads(report.stdout)
    card_ms = seen["n_products"] * product_ms(document)
    for loop in seen["loops"]:
        check_loop(loop, card_ms)
    # Other work on the machine only ever makes a loop longer on the host's clocks: the quickest one counts.
    for clock in "perf_counter", "monotonic", "time":
        least = min(loop[clock] - loop["event"] - 2 * loop["issued"] for loop in seen["loops"])
        assert least <= 0.0, f"{clock} says {least} ms more than the events and the host's time"
    took, is_place_timed = seen["graphed"]
    assert all(abs(ms - card_ms) <= 2 * FLOAT_MS for ms in took) and not is_place_timed, (seen["graphed"], card_ms)
    for name, took_s in seen["waits"].items():
        assert took_s >= SPAN_S - 1e-3, f"{name} ended after {took_s} s, before its time"
        assert took_s < MOST_WAIT_S, f"{name} ended after {took_s} s"
    assert seen["wakes"] and seen["polled"] and seen["loaded"] == sum(range(32)), seen
    loop = min(seen["loops"], key=lambda of: of["perf_counter"])
    print(f"fine: {seen['n_products']} products take {card_ms:.3f} ms by the forecast, {loop['event']:.3f} ms by events, "
          f"{loop['perf_counter']:.3f} ms by perf_counter, {loop['time']:.3f} ms by time; the run took {real_s:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
