run() { tidemark profile "$@"; echo "exit $?" >&2; }
run --contxt 128
run --log events.log --no-record
run --log-full oldest
run --profiler-range --device cpu
run --kernels --device cpu
run --kernels --no-record
run stray
