run() { tidemark profile "$@"; echo "exit $?" >&2; }
run --contxt 128
run --residuals eager # earlier versions called the option --residuals
run --emulate eager
run --log events.log --no-record
run --log-full oldest
# The final snapshot would replace the log, so the command refuses equal names, whether or not the file exists.
shape="--device virtual --layers 1 --steps 1"
run $shape --log-full keep-newest --no-record
run $shape --log run.json.gz -o run.json.gz
mkdir folder
run $shape --log ./run.json.gz -o folder/../run.json.gz
TIDEMARK_LOG=run.json.gz run $shape -o ./run.json.gz
run $shape -o run --log run
run $shape --log run.log -o run.json.gz >/dev/null
ln run.log linked.json.gz
run $shape --log run.log -o linked.json.gz
run --profiler-range --device cpu
run --kernels --device cpu
run --kernels --no-record
run stray
