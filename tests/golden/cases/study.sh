# study prints its list and the studies that need no times.
run() { tidemark study "$@"; echo "exit $?"; }
run
run parameters
run parameters --d-model 64 --layers 2 --heads 2 --d-ff 128 --vocab 100 --format csv
run residuals
run accumulation
run accumulation --size small
run residuals --size small,medium --attention naive --recompute none,block --precision bf16-true --context 64 --format csv
run memory --size small --context 128,256 --attention naive --precision fp32,bf16-true
run memory --size small --context 128 --format json
# A run that does not fit becomes a row with the reason.
run memory --size 2.7B,small --mode train --context 128 --precision fp32 --memory-limit 4GiB
# The gradients are those of one step.
run residuals --size small --context 64 --precision fp32 --steps 3 --table gradients --format csv
# The command refuses requests that make no sense.
run memori
run memory parameters
run memory --warmup 0,1
run memory --steps 0
run residuals --heads 7
run residuals --mode train,forward
run parameters --size huge
# The message names an option that the study does not use, and lists the options that it does use.
for option in "batch 1" "context 64" "mode train" "precision fp32" "attention naive" "recompute block" "device cpu" \
    "memory-limit 1GiB" "alloc-conf max_split_size_mb:64" "seed 0" "warmup 1" "steps 10"; do
    run parameters --${option}
done
run --size small
# An explicit option counts even when its value is the default of other commands.
tidemark study residuals --size small --context 16 --precision fp32 --steps 10 | head -n 1
tidemark study memory --size small --context 16 --mode train --precision fp32 --steps 10 | head -n 1
