"""Notes which runs of trackers the program makes, for `tidemark run --log-to`.

A note is a line of JSON in the file `trackers` of the run's folder, with the key "tracker" and what identifies the
run: for wandb "id" (None if wandb is disabled), "project", "entity", "dir" and "is_offline"; for mlflow "id", "uri" and
"experiment"; for tensorboard "dir". The file `trackers-python` holds the path of the first interpreter. Failures
here never reach the program.
"""
import functools
import inspect
import json
import os
import sys
import zlib

from .. import settings
from ..imports import when_imported


def start():
    """Notes the interpreter, and watches the trackers that the program imports."""
    _note_interpreter()
    when_imported({
        "wandb": _watch_wandb,
        "mlflow.tracking._tracking_service.utils": _watch_mlflow_servers,
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


def _try(note, *facts):
    """Calls the function, whose failure is not the program's."""
    try:
        note(*facts)
    except Exception:
        pass


def _after(owner, name, note):
    """Calls note(result, arguments, keywords) after each call of the function."""
    function = getattr(owner, name, None)
    if function is None:
        return

    @functools.wraps(function)
    def call(*arguments, **keywords):
        result = function(*arguments, **keywords)
        _try(note, result, arguments, keywords)
        return result

    setattr(owner, name, call)


def _watch_wandb(wandb):
    """Notes the runs. While writes are kept away, wandb.init is also given mode="disabled", whatever the program's
    text chooses: WANDB_MODE alone loses against that, and wandb's own process, a Go program, cannot see files that are
    kept away."""
    init = wandb.init
    names = list(inspect.signature(init).parameters)

    @functools.wraps(init)
    def call(*arguments, **keywords):
        given = {**dict(zip(names, arguments)), **keywords}
        if len(given) != len(arguments) + len(keywords):
            return init(*arguments, **keywords)  # which raises its own error
        mode = _chosen_mode(given)
        if settings.get("TIDEMARK_SCRATCH") is not None:
            given["mode"] = "disabled"
        run = init(**given)
        _try(_note_wandb, run, given, mode)
        return run

    wandb.init = call


def _chosen_mode(given):
    """The mode that the program chose: by the argument, in settings, or in its environment."""
    own = given.get("settings")
    own = own.get("mode") if isinstance(own, dict) else getattr(own, "mode", None)
    return given.get("mode") or own or os.environ.get("WANDB_MODE")


def _note_wandb(run, given, mode):
    own = getattr(run, "settings", None)
    used = given.get("mode") or mode or getattr(own, "mode", None)
    is_disabled = getattr(run, "disabled", False) or used == "disabled"
    _note(tracker="wandb", id=None if is_disabled else run.id,
          project=given.get("project") or getattr(own, "project", None), entity=given.get("entity"),
          dir=given.get("dir"), is_offline=(mode or used) in ("offline", "dryrun"))


_SERVERS = ("http", "databricks")
_servers = {}  # folder that the program got -> the server of mlflow that its text names


def _watch_mlflow_servers(module):
    """While writes are kept away, a folder replaces a server that the program's text names, as `tidemark run` itself
    replaces that of MLFLOW_TRACKING_URI."""
    if settings.get("TIDEMARK_SCRATCH") is None:
        return
    for name in ("set_tracking_uri", "_resolve_tracking_uri"):
        function = getattr(module, name, None)
        if function is not None:
            setattr(module, name, _with_folder(function, is_setter=name == "set_tracking_uri"))


def _with_folder(function, is_setter):
    @functools.wraps(function)
    def call(*arguments, **keywords):
        if is_setter:
            return function(*map(_folder, arguments), **{name: _folder(value) for name, value in keywords.items()})
        return _folder(function(*arguments, **keywords))

    return call


def _folder(uri):
    if not str(uri).startswith(_SERVERS):
        return uri
    server = str(uri)
    # Each server has a folder of its own, with a name that no program chooses: the folder of a client names its server.
    folder = f"file:./mlruns-of-server-{zlib.crc32(server.encode(errors='backslashreplace')):08x}"
    _servers[folder] = server
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # mlflow 3.17 refuses folders otherwise
    return folder


def _watch_mlflow(module):
    def note(run, arguments, _):
        client = arguments[0]
        uri = getattr(client, "tracking_uri", None) or getattr(client, "_tracking_client").tracking_uri
        is_local = not str(uri).startswith(_SERVERS)
        experiment = client.get_experiment(run.info.experiment_id).name if is_local else None
        _note(tracker="mlflow", id=run.info.run_id, uri=_servers.get(str(uri), uri), experiment=experiment)

    _after(module.MlflowClient, "create_run", note)


def _watch_tensorboard(module):
    def note(_, arguments, keywords):
        folder = arguments[1] if len(arguments) > 1 else keywords["logdir"]
        _note(tracker="tensorboard", dir=os.path.abspath(os.fspath(folder)))

    _after(module.EventFileWriter, "__init__", note)
