#!/usr/bin/env bash
# The staff model, run by PyTorch on a virtual card, beside closed forms, the forecast and (with --full) recordings of
# real cards: plain.sh TIDEMARK PYTHON LIBRARY SHARED [--full]
# PYTHON has a CUDA build of PyTorch; LIBRARY is the virtual card; recordings lie in SHARED/pytorch-snapshots, and each
# needs the PyTorch that made it, in ~/.cache/tidemark/pytorch-VERSION.
set -eu
tidemark=$(realpath "$1")
python=$2
library=$(realpath "$3")
shared=$4
full=${5:-}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/lib"
for name in libcuda.so.1 libnvidia-ml.so.1; do
    ln -s "$library" "$scratch/lib/$name"
done
on_card() { LD_PRELOAD=$library LD_LIBRARY_PATH=$scratch/lib TIDEMARK_VIRTUAL_CARDS=h100-80 "$python" -B "$@"; }

echo "what is kept for the backward pass:"
on_card "$here/kept_for_backward.py"

echo "what autocast casts:"
on_card "$here/autocast_lists.py"

echo "a program's own memory history, alone and by tidemark run:"
on_card "$here/history.py" | tee "$scratch/alone"
"$tidemark" run --device virtual:h100-80 -o "$scratch/history.json.gz" --html "$scratch/history.html" \
    -- "$python" -B "$here/history.py" 2>"$scratch/messages" >"$scratch/run" || {
    cat "$scratch/messages"
    exit 1
}
diff "$scratch/alone" "$scratch/run"

echo "the forecast beside PyTorch:"
"$python" -B "$here/check_forecast.py" ${full:+"$full"} "$tidemark" "$python" "$library"

[ -n "$full" ] || exit 0
echo "recordings of real cards:"
"$python" -B "$here/check_recordings.py" "$tidemark" "$shared" || [ $? -eq 77 ]
