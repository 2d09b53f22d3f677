# The program refuses impossible shapes and shapes whose byte counts overflow.
run() { tidemark profile --device virtual "$@"; echo "exit $?" >&2; }
run --d-model 100 --heads 3
run --context 0
run --batch 0
run --layers 0
run --context 99999999999
run --batch 9223372036854775807 --context 9223372036854775807
run --d-model 9223372036854775806 --heads 2
run --context 1.5
ls
