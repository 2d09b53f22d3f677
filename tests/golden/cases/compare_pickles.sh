# Two pickles without categories: what changed is told by the lines of the program.
python3 - <<'PY'
import pickle
MIB = 1 << 20

def write(name, blocks):
    base = 0x7f0000000000
    trace, rows, at = [], [], base
    for mib, function, file, line in blocks:
        frames = [{"name": "torch::unwind::unwind()", "filename": "??", "line": 0}]
        frames += [{"name": "empty", "filename": "/x/lib/python3.12/site-packages/torch/ops.py", "line": 3}]
        frames += [{"name": function, "filename": "/home/me/" + file, "line": line}]
        trace.append({"action": "alloc", "addr": at, "size": mib * MIB, "stream": 0, "time_us": 5 + len(trace), "frames": frames})
        rows.append({"address": at, "size": mib * MIB, "requested_size": mib * MIB, "state": "active_allocated", "frames": frames})
        at += mib * MIB
    rows.append({"address": at, "size": base + 1024 * MIB - at, "requested_size": 0, "state": "inactive", "frames": []})
    segment = {"device": 0, "address": base, "total_size": 1024 * MIB, "stream": 0, "segment_type": "large", "blocks": rows}
    pickle.dump({"segments": [segment], "device_traces": [trace]}, open(name, "wb"), protocol=4)

write("before.pickle", [(64, "softmax", "net.py", 7), (96, "silu", "net.py", 20), (30, "embed", "net.py", 2)])
write("after.pickle", [(8, "softmax", "net.py", 7), (96, "silu", "net.py", 20), (24, "cast", "amp.py", 4)])
PY
tidemark compare before.pickle after.pickle | head -n 1
tidemark compare before.pickle before.pickle | head -n 1
