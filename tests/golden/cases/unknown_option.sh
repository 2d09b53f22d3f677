run() { tidemark profile "$@"; echo "exit $?" >&2; }
run --contxt 128
run --log events.log
run --profiler-range --device cpu
run --kernels --device cpu
run --kernels --no-record
run stray
