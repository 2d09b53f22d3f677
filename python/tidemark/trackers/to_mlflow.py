"""Logs to MLflow: metrics, tags, and files among the run's artifacts in the folder `tidemark`."""
import os


def log(facts, seen):
    """Logs to the program's run, or to a new one.

    The run is that of MLFLOW_RUN_ID, or the last one that the program made, if the store still has it: on a virtual
    card, files that the program wrote are kept away, and so are runs in a store of files. A new run is in the
    experiment of the program, or of MLFLOW_EXPERIMENT_NAME. Returns the words for the user. Raises what mlflow
    raises.
    """
    import mlflow

    of_program = seen[-1] if seen else {}
    uri = os.environ.get("MLFLOW_TRACKING_URI") or of_program.get("uri") or mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)  # the store of artifacts of a run is resolved with it
    client = mlflow.MlflowClient(tracking_uri=uri)
    run_id = _find(client, os.environ.get("MLFLOW_RUN_ID")) or _find(client, of_program.get("id"))
    is_new = run_id is None
    if is_new:
        run_id = client.create_run(_experiment(client, of_program), run_name=facts.name).info.run_id
    for name, value in facts.metrics.items():
        client.log_metric(run_id, name, value)
    for name, value in facts.params.items():
        client.set_tag(run_id, name, value)
    client.set_tag(run_id, "tidemark/answer", facts.text()[:5000])  # the longest that every store takes
    client.log_text(run_id, facts.text() + "\n", "tidemark/answer.txt")
    for path in facts.files():
        client.log_artifact(run_id, path, "tidemark")
    if is_new:
        client.set_terminated(run_id)
    return f"logged to mlflow, run {run_id} of {uri}"


def _find(client, run_id):
    if run_id:
        try:
            return client.get_run(run_id).info.run_id
        except Exception:
            pass  # the store does not have it
    return None


def _experiment(client, of_program):
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or of_program.get("experiment")
    name = name if name else "Default"
    found = client.get_experiment_by_name(name)
    return found.experiment_id if found is not None else client.create_experiment(name)
