run() { tidemark profile --device virtual "$@"; echo "exit $?" >&2; }
run --steps 0
run --steps 99999999
run --memory-limit 24Gbit
run --time 2>&1 | sed 's/ (valid: .*//' >&2
run --memory-limit 0
run --clip-grad-norm -1
run --clip-grad-norm 1 --mode forward,forward-backward
run --keep-graph
run --cuda-graph --warmup 0
run --cuda-graph --sync-phases
run --cuda-graph --precision fp16
run --alloc-conf max_split_size:20
run --alloc-conf expandable_segments:true
run --alloc-conf pinned_use_cuda_host_register:True
TIDEMARK_ALLOC_CONF=nonsense:1 run --steps 1
run --overhead-pairs 3
run --overhead-pairs 1001
run --overhead-pairs 1 --no-record
run --precision fp32,fp32
# Every command refuses a request beyond a limit while it parses the command line.
for command in profile sweep "study memory" "study parameters" "fit --memory-limit 1GiB" forecast; do
    # shellcheck disable=SC2086
    tidemark $command --layers 65537
    echo "exit $?" >&2
done
ls
