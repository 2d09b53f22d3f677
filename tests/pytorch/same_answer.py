"""Whether `tidemark run` and the page print the sentences that `tidemark explain` prints of a snapshot.

Of `run`: cause, peak, kinds, reserved. Lines of the program, sums and growth are parts of these sentences, and so are the same.
Of a job each sentence has the ranks that it holds for before it.
Of the page: every sentence but those of a replay, which it does not make.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess

KEYS = ("cause", "oom_cause", "filled", "kinds", "reserved")
PAGE = pathlib.Path(__file__).resolve().parent.parent / "viewer/support/page_sentences.mjs"


def sentences(tidemark, snapshot, device):
    """By key; {}: the file has no such device. Raises what explain says if it fails for the first device."""
    done = subprocess.run([tidemark, "explain", str(snapshot), "--device", str(device), "--format", "json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0 and device == 0:
        raise RuntimeError(f"explain {snapshot}: {done.stderr}")
    return json.loads(done.stdout).get("sentences", {}) if done.returncode == 0 else {}


def plain(sentence):
    """The sentence without ranks, and without the word before a further cause."""
    ranks = r"^((rank|ranks) [\d, and]+|all \d+ ranks|\d+ of \d+ ranks)( \(figures of rank \d+\))?: "
    return re.sub(ranks, "", sentence).removeprefix("Also: ")


def page_differences(tidemark, snapshot):
    """Faults of the page. None without node, or without the engine beside the program."""
    engine = pathlib.Path(tidemark).resolve().parent.parent / "snapshot/wasm/tide_engine.wasm"
    if shutil.which("node") is None or not engine.exists():
        return []
    done = subprocess.run(["node", PAGE, str(snapshot)], capture_output=True, text=True, check=False,
                          env={**os.environ, "TIDEMARK_ENGINE": str(engine)})
    if done.returncode != 0:
        return [f"the page does not read {snapshot}: {done.stderr}"]
    faults = []
    for device, printed in enumerate(json.loads(done.stdout)):
        if printed or device == 0:  # the page shows no device that is not used
            expected = sentences(tidemark, snapshot, device)
            texts = [[key, text] for key in expected if key != "help" for text in expected[key]]
            if printed != texts:
                faults.append(f"of device {device}, the page prints {printed}, and explain {texts}")
    return faults


def differences(tidemark, said, snapshots, n_devices=1):
    """Faults. `said`: stderr of `run`, which prints one device of one of its snapshots."""
    of_page = [fault for snapshot in snapshots for fault in page_differences(tidemark, snapshot)]
    return of_page + run_differences(tidemark, said, snapshots, n_devices)


def run_differences(tidemark, said, snapshots, n_devices):
    """Faults of `run`."""
    printed = [plain(line.removeprefix("tidemark run: ")) for line in said.splitlines() if line.startswith("tidemark run: ")]
    peaks = [line for line in printed if re.match(r"(The peak, \S+ \S+, is|(All|Nearly all) of the peak, )", line)]
    answers = [sentences(tidemark, snapshot, device) for snapshot in snapshots for device in range(n_devices)]
    if not any(answers):
        return []  # without a history
    same = [answer for answer in answers if answer.get("filled", [])[:1] == peaks[:1]]
    if not same:
        return [f"run and explain name different lines: {peaks}, {[answer.get('filled') for answer in answers]}"]
    missing = [[text for key in KEYS for text in answer.get(key, []) if plain(text) not in printed] for answer in same]
    return [f"explain says, and run does not: {text}" for text in min(missing, key=len)]
