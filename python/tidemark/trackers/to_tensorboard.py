"""Logs to TensorBoard: scalars and a text in an event file, with the report and the snapshots as files beside it."""
import os
import shutil
import time


def log(facts, seen):
    """Writes an event file in the folder of the program's last writer, or in runs/tidemark.

    The scalars have step 0. Returns the words for the user. Raises what tensorboard raises, or OSError.
    """
    from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
    from tensorboard.plugins.text import plugin_data_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    folder = seen[-1]["dir"] if seen else os.path.join("runs", "tidemark")
    os.makedirs(folder, exist_ok=True)
    copies = [os.path.basename(path) for path in facts.files()]
    for path in facts.files():
        shutil.copyfile(path, os.path.join(folder, os.path.basename(path)))
    text = "\n\n".join([*facts.sentences, *(f"{name}: {value}" for name, value in facts.params.items()),
                        "Files in the folder of this run: " + ", ".join(copies)])
    plugin = summary_pb2.SummaryMetadata.PluginData(
        plugin_name="text", content=plugin_data_pb2.TextPluginData(version=0).SerializeToString())
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[text.encode()], tensor_shape=shape)
    values = [summary_pb2.Summary.Value(tag=name, simple_value=value) for name, value in facts.metrics.items()]
    values.append(summary_pb2.Summary.Value(
        tag="tidemark/answer", metadata=summary_pb2.SummaryMetadata(plugin_data=plugin), tensor=tensor))
    writer = EventFileWriter(folder, filename_suffix=".tidemark")
    writer.add_event(event_pb2.Event(step=0, wall_time=time.time(), summary=summary_pb2.Summary(value=values)))
    writer.close()
    return f"logged to tensorboard, in {folder}"
