"""Logs to TensorBoard: scalars and a text in an event file, with the report and the snapshots as files beside it."""
import os
import shutil
import time

ANSWER = "tidemark/answer"


def log(facts, seen):
    """Writes an event file in the folder of the program's last writer, or in runs/tidemark.

    The scalars have step 0. It needs the package tensorboard, or tensorboardX. Returns the words for the user. Raises
    what these raise, or OSError.
    """
    write = _writer()
    folder = _choose(seen) or os.path.join("runs", "tidemark")
    os.makedirs(folder, exist_ok=True)
    copies = [os.path.basename(path) for path in facts.files()]
    for path in facts.files():
        shutil.copyfile(path, os.path.join(folder, os.path.basename(path)))
    text = "\n\n".join([*facts.sentences, *(f"{name}: {value}" for name, value in facts.params.items()),
                        "Files in the folder of this run: " + ", ".join(copies)])
    write(folder, facts.metrics, text)
    return f"logged to tensorboard, in {folder}"


def _choose(seen):
    """The last folder that is not in that of an earlier writer: add_scalars and add_hparams make such writers."""
    folders = []
    for note in seen:
        if not any(note["dir"].startswith(os.path.join(folder, "")) for folder in folders):
            folders.append(note["dir"])
    return folders[-1] if folders else None


def _writer():
    """The function that writes with the package that is installed."""
    try:
        import tensorboard  # noqa: F401

        return _write
    except ModuleNotFoundError:
        try:
            import tensorboardX  # noqa: F401
        except ModuleNotFoundError:
            pass
        else:
            return _write_x
        raise


def _write_x(folder, metrics, text):
    from tensorboardX import SummaryWriter

    with SummaryWriter(folder, filename_suffix=".tidemark") as writer:
        for name, value in metrics.items():
            writer.add_scalar(name, value, 0)
        writer.add_text(ANSWER, text, 0)


def _write(folder, metrics, text):
    from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
    from tensorboard.plugins.text import plugin_data_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    plugin = summary_pb2.SummaryMetadata.PluginData(
        plugin_name="text", content=plugin_data_pb2.TextPluginData(version=0).SerializeToString())
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[text.encode()], tensor_shape=shape)
    values = [summary_pb2.Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
    values.append(summary_pb2.Summary.Value(
        tag=ANSWER, metadata=summary_pb2.SummaryMetadata(plugin_data=plugin), tensor=tensor))
    writer = EventFileWriter(folder, filename_suffix=".tidemark")
    writer.add_event(event_pb2.Event(step=0, wall_time=time.time(), summary=summary_pb2.Summary(value=values)))
    writer.close()
