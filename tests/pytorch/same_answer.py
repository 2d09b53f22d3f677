"""Whether `tidemark run` prints the sentences that `tidemark explain` prints of its snapshot: cause, peak, kinds, reserved.

Lines of the program, sums and growth are parts of these sentences, and so are the same. Of a job each sentence has the
ranks that it holds for before it.
"""
import json
import re
import subprocess

KEYS = ("cause", "oom_cause", "filled", "kinds", "reserved")


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


def differences(tidemark, said, snapshots, n_devices=1):
    """Faults. `said`: stderr of `run`, which prints one device of one of its snapshots."""
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
