# Files that are no snapshots of their own: a snapshot inside of a page is read as one, texts are answered, and others are
# named with what to record instead.
python3 "$golden/snapshots/make_training.py" leak >training.pickle
viz() { # BASE64: the page that memory_viz writes
    printf '\n<!DOCTYPE html>\n<script type="module">\nimport {add_local_files} from "https://cdn.example/MemoryViz.js"\n'
    printf 'const local_files = [{"name": "snapshot.pickle", "base64": "%s"}]\n</script>\n' "$1"
}
viz "$( (cat training.pickle; printf '\0\0') | base64 -w 0)" >viz.html
tidemark explain training.pickle >expected 2>/dev/null
for command in explain "summary --table by_category" "export --to csv"; do
    # shellcheck disable=SC2086
    tidemark ${command%% *} training.pickle $(sed 's/^[a-z]* *//' <<<"$command") >of_pickle 2>/dev/null
    # shellcheck disable=SC2086
    tidemark ${command%% *} viz.html $(sed 's/^[a-z]* *//' <<<"$command") 2>/dev/null | diff of_pickle - >/dev/null && [ -s of_pickle ] && echo "$command: same as of the pickle"
done
tidemark view training.pickle -o own.html >/dev/null
tidemark explain own.html 2>/dev/null | diff expected - && echo "own page: same as of the snapshot"
head -c 3000 viz.html >cut.html
tidemark explain cut.html; echo "exit $?"
tidemark view -o without.html >/dev/null 2>&1
tidemark explain without.html; echo "exit $?"
# A file without a history has one instant, and no peak.
python3 "$golden/snapshots/make_training.py" bare leak >bare.pickle
tidemark summary bare.pickle 2>&1 | grep -c 'the peak'
tidemark summary bare.pickle --format json | jq -r '.sentences | .instant, .peak'
tidemark picture bare.pickle -o bare.svg >/dev/null
grep -o '>[^<>]*written[^<>]*<\|>append_loss[^<>]*<' bare.svg
# PyTorch keeps the call stack of a segment from before the trace.
python3 - <<'END'
import pickle
M = 1 << 20
A = 0x7F0000000000
frame = lambda name, line: [{"name": name, "filename": "/home/me/train.py", "line": line}]
event = lambda action, time: {"action": action, "addr": A + 100 * M, "size": 64 * M, "stream": 0, "frames": frame("use", 9), "time_us": time}
segment = {"device": 0, "address": A, "total_size": 1024 * M, "stream": 0, "segment_type": "large", "frames": frame("buy", 5), "blocks": [
    {"size": 100 * M, "requested_size": 100 * M, "state": "active_allocated", "frames": []},
    {"size": 924 * M, "state": "inactive", "frames": []}]}
trace = [event("alloc", 10), event("free_requested", 11), event("free_completed", 12)]
pickle.dump({"segments": [segment], "device_traces": [trace]}, open("older.pickle", "wb"))
END
tidemark explain older.pickle --format json | jq -r '.sentences.reserved[]'
tidemark export --to tidemark older.pickle -o older.json.gz
tidemark explain older.json.gz --format json | jq -r '.sentences.reserved[]'
for stack in 99 -1 '"x"'; do
    gzip -dc older.json.gz | jq -c ".end.segments[0].stack = $stack" >damaged.json
    tidemark explain damaged.json; echo "exit $?"
done
cat >train.log <<'LOG'
epoch 0
Traceback (most recent call last):
  File "/home/me/train.py", line 88, in <module>
    main()
  File "/home/me/train.py", line 71, in main
    loss = model(batch).loss
  File "/home/me/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1501, in _call_impl
    return forward_call(*args, **kwargs)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a total capacity of 23.65 GiB of which 300.00 MiB is free. Including non-PyTorch memory, this process has 23.30 GiB memory in use. Of the allocated memory 15.00 GiB is allocated by PyTorch, and 7.80 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)
LOG
tidemark explain train.log
tidemark explain train.log --format json | jq -c .figures
for command in summary view "export --to csv"; do
    # shellcheck disable=SC2086
    tidemark $command train.log; echo "exit $?"
done
echo 'epoch 0: loss 9.3' >quiet.log
tidemark explain quiet.log; echo "exit $?"
printf 'NVIDIA Tegra Profiler Report 2025@1\n\0' >train.nsys-rep
printf ':W&B\341\276\0' >run.wandb
printf '\030\0\0\0\0\0\0\0\243\177\113\042\011\0\0\0\0\0\0\0\0\032\015brain.Event:2' >events.out.tfevents
printf 'PK\003\004\0\0model/data.pkl' >model.pt
printf '<html>\n<head><meta charset="utf-8" /><title>GPU Memory Timeline HTML</title></head>' >timeline.html
printf '\177ELF\0' >program
for file in train.nsys-rep run.wandb events.out.tfevents model.pt timeline.html program; do
    tidemark explain "$file"; echo "exit $?"
done
