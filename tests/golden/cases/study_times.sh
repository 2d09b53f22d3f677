# study runs the studies of times on small shapes. The case removes figures that depend on the machine.
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
shape="--d-model 32 --layers 2 --heads 2 --d-ff 64 --vocab 50 --context 32"
# This function replaces measured values by "#" and keeps keys and constant columns.
run() {
    tidemark study "$@" --format csv >printed 2>&1; status=$?
    sed -E '/^tidemark study: /{s/[0-9]+\.[0-9]+/#/g; s/ on cpu.*/ on cpu/; s/times as (fast|slow)/times as QUICK/g; s/samples of (forward|backward)/samples of PHASE/}; s/,[0-9.e+-]+/,#/g' printed; echo "exit $status"
}
run end-to-end $shape --device cpu --warmup 1 --steps 3
# The study compares two sizes with each other, and two batches of one size.
run end-to-end --size small,medium --d-model 32 --heads 2 --d-ff 64 --vocab 50 --context 32 --device cpu --warmup 1 --steps 2 |
    grep 'takes' | sed -E 's/;.*//'
run end-to-end $shape --batch 1,2 --device cpu --warmup 1 --steps 2 | grep 'takes' | sed -E 's/;.*//'
run warmup $shape --device cpu --steps 3 --warmup 0,2
run precision $shape --device cpu --warmup 1 --steps 2 --batch 2
# The order of the operators depends on the machine, so the case sorts them.
tidemark study kernels $shape --device cpu --warmup 1 --steps 2 --format json >printed
jq -r '.tables.operators.rows[] | keys_unsorted[0:3] as $keys | [.[$keys[]]] | join(",")' printed | sort
jq -r '.tables.operator_products.rows[].phase' printed
grep -c 'the operator with most time in forward is .* of the full step; in attention softmax takes' printed
# The MLP has other operators, and its linear layers are the products.
tidemark study kernels --workload mlp --d-model 32 --layers 2 --batch 8 --device cpu --warmup 1 --steps 2 --format json >printed
jq -r '.tables.operators.rows[] | keys_unsorted[0:3] as $keys | [.[$keys[]]] | join(",")' printed | sort
jq -r '.tables.operator_products.rows[] | "\(.phase) \(.product_ms > 0)"' printed
grep -o 'mlp, train, batch 8, fp32, 1 step of warm-up' printed
run kernels --workload mlp --device cpu --context 32
run kernels --workload decode --device cpu
run memory --workload mlp
run parameters --workload transformer
# The virtual device has no times, so studies that only report times refuse to run on it.
run end-to-end --device virtual --size small,2.7B --memory-limit 4GiB
run kernels $shape --device virtual
# A ratio must have a single cause, so the study does not compare runs that differ in two options.
run end-to-end $shape --mode forward,train --context 16,32 --device cpu --warmup 1 --steps 2 | grep 'takes' | sed -E 's/;.*//'
