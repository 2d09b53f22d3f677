# Found before the run starts, so that no run is lost.
run() { tidemark profile --device virtual --steps 1 "$@" 2>message; status=$?; sed -E 's/x{9,}/xxx/' message >&2; echo "exit $status" >&2; }
mkdir folder
touch file
run -o missing/run.json.gz
run -o file/run.json.gz
run --precision fp32,bf16 -o file
run --precision fp32,bf16 -o missing/folder
run --precision fp32,bf16 -o one.json.gz
run -o "$(printf 'x%.0s' $(seq 300))"
rm message
ls
