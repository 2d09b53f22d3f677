# study: the list, and the studies that need no times.
run() { tidemark study "$@"; echo "exit $?"; }
run
run parameters
run parameters --d-model 64 --layers 2 --heads 2 --d-ff 128 --vocab 100 --format csv
run residuals
run residuals --size small,medium --attention naive --recompute none,block --precision bf16-true --context 64 --format csv
run memory --size small --context 128,256 --attention naive --precision fp32,bf16-true
run memory --size small --context 128 --format json
# What does not fit is a row with its reason.
run memory --size 2.7B,small --mode train --context 128 --precision fp32 --memory-limit 4GiB
# What makes no sense.
run memori
run memory parameters
run memory --warmup 0,1
run memory --steps 0
run residuals --heads 7
run residuals --mode train,forward
run parameters --size huge
