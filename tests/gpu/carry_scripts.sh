#!/usr/bin/env bash
# carry_scripts.sh ROOT FOLDER: copies what a carried build has besides programs and libraries: run.sh and the scripts
# of its parts, the recorded results, the benchmark beside PyTorch, the zoo, and the package that `tidemark run` opens.
# Scripts keep their places in the tree, because they find each other by them.
set -eu
root=$(realpath "$1")
folder=$(realpath -m "$2")
rm -rf "${folder:?}/tests" "$folder/reference" "$folder/bench" "$folder/share"
mkdir -p "$folder/tests/gpu" "$folder/tests/live" "$folder/tests/pytorch/zoo" "$folder/reference" "$folder/bench/pytorch" \
    "$folder/share/tidemark/python"
for name in part.sh report.sh initcheck.sh training.sh live.py wanted.py; do
    cp "$root/tests/gpu/$name" "$folder/tests/gpu/"
done
cp "$root/tests/live/read_log.py" "$folder/tests/live/"
cp "$root"/tests/pytorch/zoo/*.py "$folder/tests/pytorch/zoo/"
cp "$root"/tests/reference/*.safetensors "$folder/reference/"
cp "$root"/model/bench/pytorch/*.py "$folder/bench/pytorch/"
cp -r "$root/python/tidemark" "$folder/share/tidemark/python/"
find "$folder/share" -name __pycache__ -prune -exec rm -rf {} +
echo "commit $(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)" >"$folder/revision"
cp "$root/tests/gpu/run_carried.sh" "$folder/run.sh"
