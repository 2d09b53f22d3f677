"""What is logged: the figures and sentences of `tidemark explain`, and the files."""
import json
import os
import subprocess

GIB = 1 << 30


class Facts:
    """The facts of a finished run.

    metrics: name -> number: peaks and categories in GiB (1 GiB = 2^30 bytes), and the program's exit status.
    params: name -> text: the card and the command. sentences: those of `tidemark explain`, in its order.
    page: path of the report, or None. snapshots: paths; the first one is that of the metrics.
    """

    def __init__(self, explained, device, name, status, page, snapshots):
        figures = explained["figures"]
        self.metrics = {
            "tidemark/peak_allocated_gib": figures["allocated_peak_bytes"] / GIB,
            "tidemark/peak_reserved_gib": figures["reserved_peak_bytes"] / GIB,
            "tidemark/failed_requests": figures["ooms"],
            "tidemark/exit_status": status,
        }
        for row in explained["tables"]["peak_categories"]["rows"]:
            self.metrics[f"tidemark/peak_gib/{row['category']}"] = row["bytes"] / GIB
        self.params = {"tidemark/device": device, "tidemark/program": name}
        self.sentences = [text for texts in explained["sentences"].values() for text in texts]
        self.name = f"tidemark: {name} on {device}"
        self.page, self.snapshots = page, snapshots

    def files(self):
        """Paths of the report and of the snapshots that exist."""
        return [path for path in (self.page, *self.snapshots) if path and os.path.exists(path)]

    def text(self):
        """The sentences, one a line."""
        return "\n".join(self.sentences)


def explain(tidemark, snapshot):
    """The JSON of `tidemark explain` (docs/reference/json.md). Raises RuntimeError with its message if it fails."""
    done = subprocess.run([tidemark, "explain", "--format", "json", snapshot], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"tidemark explain ended with status {done.returncode}")
    return json.loads(done.stdout)
