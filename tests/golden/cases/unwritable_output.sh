# The command checks the output before the run starts, so that no run is lost.
run() { tidemark profile --device virtual --steps 1 "$@" 2>message; status=$?; sed -E 's/x{9,}/xxx/' message >&2; echo "exit $status" >&2; }
mkdir folder
touch file
run -o missing/run.json.gz
run -o file/run.json.gz
run --precision fp32,bf16 -o file
run --precision fp32,bf16 -o missing/folder
run --precision fp32,bf16 -o one.json.gz
run -o "$(printf 'x%.0s' $(seq 300))"
mkfifo pipe
run -o pipe
run -o ''
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 -o run.json.gz >/dev/null
tidemark view run.json.gz -o pipe; echo "exit $?" >&2
[ -p pipe ] && rm pipe run.json.gz
rm message
ls
