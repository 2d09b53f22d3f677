"""Logs to Weights & Biases: figures and sentences in the run's summary, files among the run's files."""
import os
import shutil


def log(facts, seen):
    """Logs to the program's run, or to a new one.

    The run is that of WANDB_RUN_ID, or the last one that the program made; on a virtual card wandb is switched off
    in the program: a new run of the same project is made. It is offline if WANDB_MODE or the program chose that: it is
    then in ./wandb (or WANDB_DIR), and `wandb sync` uploads it. Returns the words for the user. Raises what wandb
    raises.
    """
    if os.environ.get("WANDB_MODE") == "disabled":
        return "--log-to wandb: nothing is logged, because WANDB_MODE is disabled"
    import wandb

    of_program = seen[-1] if seen else {}
    mode = os.environ.get("WANDB_MODE") or ("offline" if of_program.get("is_offline") else None)
    is_offline = mode in ("offline", "dryrun")
    try:
        run = _start(wandb, facts, of_program, mode, is_offline)
    except Exception as error:
        remedy = "" if is_offline else "; WANDB_MODE=offline logs to a folder, which `wandb sync` uploads"
        return f"--log-to wandb: nothing is logged: {type(error).__name__}: {' '.join(str(error).split())}{remedy}"
    try:
        run.summary.update({**facts.metrics, **facts.params, "tidemark/answer": facts.text()})
        if facts.page and os.path.exists(facts.page):
            run.summary["tidemark/report"] = wandb.Html(facts.page, inject=False)
        for path in facts.files():
            _keep(run, path)
    finally:
        run.finish()
        wandb.teardown()  # waits for its service
    where = f": wandb sync {os.path.dirname(run.dir)}" if is_offline else ""
    return f"logged to wandb, run {run.id}{where}"


def _start(wandb, facts, of_program, mode, is_offline):
    run_id = os.environ.get("WANDB_RUN_ID") or of_program.get("id")
    return wandb.init(
        id=run_id, resume="allow" if run_id and not is_offline else None,
        project=os.environ.get("WANDB_PROJECT") or of_program.get("project"),
        entity=os.environ.get("WANDB_ENTITY") or of_program.get("entity"), dir=of_program.get("dir"), mode=mode,
        name=None if run_id else facts.name, job_type=None if run_id else "tidemark",
        settings=wandb.Settings(silent=True, console="off"))


def _keep(run, path):
    """Copies the file into the run's folder, whose files wandb uploads."""
    folder = os.path.join(run.dir, "tidemark")
    os.makedirs(folder, exist_ok=True)
    copy = shutil.copy(path, folder)
    run.save(copy, base_path=run.dir, policy="now")
