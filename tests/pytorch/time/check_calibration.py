#!/usr/bin/env python3
"""`tidemark bench calibrate` with a real PyTorch, and the forecast that uses it: check_calibration.py TIDEMARK PYTHON.

No time is compared with another one, since machines differ and have other work: the file must have what this machine can
measure, in the right unit, and a forecast must use it.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HANGS_S = 900
# A launch takes microseconds of the host: a figure outside of this is in another unit, or of something else.
LEAST_US, MOST_US = 0.5, 5000


def calibrate(tidemark, python, environment, *options):
    run = subprocess.run([tidemark, "bench", "calibrate", "--python", python, *options], env=environment,
                         capture_output=True, text=True, timeout=HANGS_S)
    assert run.returncode == 0, run.stderr


def read(path):
    with open(path) as file:
        return json.load(file)


def main(tidemark, python):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CONFIG_HOME": folder}
        calibrate(tidemark, python, environment)
        own = read(os.path.join(folder, "tidemark", "calibration.json"))
        other_path = os.path.join(folder, "other.json")
        calibrate(tidemark, python, environment, "-o", other_path)
        other = read(other_path)
        for key in "forward_us", "backward_us":
            for figures in own["host"], other["host"]:
                assert LEAST_US < figures[key] < MOST_US, f"{key}: {figures[key]}"
        log = os.path.join(folder, "nanogpt.launches")
        run = subprocess.run([tidemark, "run", "--device", "virtual:h100-80", "--time", "--launch-log", log, "-o",
                              os.path.join(folder, "run.json.gz"), "--", python, os.path.join(HERE, "nanogpt.py")],
                             env=environment, capture_output=True, text=True)
        assert run.returncode == 0 and "calibration of" in run.stderr, run.stderr
        report = subprocess.run([tidemark, "time", log, "--format", "json"], env=environment, capture_output=True,
                                text=True, check=True)
        figures = json.loads(report.stdout)["figures"]
        expected = "measured" if "gpu" in own else "scaled"
        assert figures["host_source"] == expected, figures
        assert figures["calibrated_cpu"] == own["cpu"], figures
        bare = subprocess.run([tidemark, "bench", "calibrate", "--python", python, "-o",
                               os.path.join(folder, "absent", "x.json")], env=environment, capture_output=True, text=True)
        assert bare.returncode != 0 and "absent" in bare.stderr, bare.stderr
    print(f"fine: {own['host']['forward_us']:.1f} us a launch forward, {own['host']['backward_us']:.1f} backward, "
          f"{'a GPU' if 'gpu' in own else 'no GPU'}; host's factor {figures['host_factor']:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
