"""Notes which runs of trackers the program makes, for `tidemark run --log-to`.

A note is a line of JSON in the file `trackers` of the run's folder, with the key "tracker" and what identifies the
run: for wandb "id" (None if wandb is disabled), "project", "entity", "dir" and "is_offline"; for mlflow "id", "uri" and
"experiment"; for tensorboard "dir". The file `trackers-python` holds the path of the first interpreter. Failures
here never reach the program.
"""
import functools
import json
import os
import sys

from .. import settings
from ..imports import when_imported


def start():
    """Notes the interpreter, and watches the trackers that the program imports."""
    _note_interpreter()
    when_imported({
        "wandb": _watch_wandb,
        "mlflow.tracking.client": _watch_mlflow,
        "tensorboard.summary.writer.event_file_writer": _watch_tensorboard,
        "tensorboardX.event_file_writer": _watch_tensorboard,
    })


def _path(name):
    return os.path.join(settings.get("TIDEMARK_RUN_FOLDER"), name)


def _note_interpreter():
    try:
        with open(_path("trackers-python"), "x", encoding="utf-8", errors="surrogateescape") as file:
            file.write(sys.executable or "")
    except OSError:
        pass  # another process was first


def _note(**facts):
    try:
        with open(_path("trackers"), "a", encoding="utf-8") as file:
            file.write(json.dumps(facts) + "\n")
    except Exception:
        pass  # then the run of the program is unknown, and a new one is made


def _after(owner, name, note):
    """Calls note(result, arguments, keywords) after each call of the function."""
    function = getattr(owner, name, None)
    if function is None:
        return

    @functools.wraps(function)
    def call(*arguments, **keywords):
        result = function(*arguments, **keywords)
        try:
            note(result, arguments, keywords)
        except Exception:
            pass
        return result

    setattr(owner, name, call)


def _watch_wandb(wandb):
    def note(run, _, keywords):
        is_disabled = getattr(run, "disabled", False) or os.environ.get("WANDB_MODE") == "disabled"
        own = getattr(run, "settings", None)
        mode = keywords.get("mode") or getattr(own, "mode", None)
        _note(tracker="wandb", id=None if is_disabled or mode == "disabled" else run.id,
              project=keywords.get("project") or getattr(own, "project", None),
              entity=keywords.get("entity"), dir=keywords.get("dir"), is_offline=mode in ("offline", "dryrun"))

    _after(wandb, "init", note)


def _watch_mlflow(module):
    def note(run, arguments, _):
        client = arguments[0]
        uri = getattr(client, "tracking_uri", None) or getattr(client, "_tracking_client").tracking_uri
        is_local = not str(uri).startswith(("http", "databricks"))
        experiment = client.get_experiment(run.info.experiment_id).name if is_local else None
        _note(tracker="mlflow", id=run.info.run_id, uri=uri, experiment=experiment)

    _after(module.MlflowClient, "create_run", note)


def _watch_tensorboard(module):
    def note(_, arguments, keywords):
        folder = arguments[1] if len(arguments) > 1 else keywords["logdir"]
        _note(tracker="tensorboard", dir=os.path.abspath(os.fspath(folder)))

    _after(module.EventFileWriter, "__init__", note)
