# study: the studies of times, on small shapes; figures that nobody can know are left out.
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
shape="--d-model 32 --layers 2 --heads 2 --d-ff 64 --vocab 50 --context 32"
# csv and notes with "#" for what was measured: the keys and what does not vary stay.
run() {
    tidemark study "$@" --format csv >printed 2>&1; status=$?
    sed -E '/^tidemark study: /{s/[0-9]+\.[0-9]+/#/g; s/ on cpu.*/ on cpu/; s/times as (fast|slow)/times as QUICK/g; s/samples of (forward|backward)/samples of PHASE/}; s/,[0-9.e+-]+/,#/g' printed; echo "exit $status"
}
run end-to-end $shape --device cpu --warmup 1 --steps 3
# Two sizes are compared with each other; two batches of one size, too.
run end-to-end --size small,medium --d-model 32 --heads 2 --d-ff 64 --vocab 50 --context 32 --device cpu --warmup 1 --steps 2 |
    grep 'takes' | sed -E 's/;.*//'
run end-to-end $shape --batch 1,2 --device cpu --warmup 1 --steps 2 | grep 'takes' | sed -E 's/;.*//'
run warmup $shape --device cpu --steps 3 --warmup 0,2
run precision $shape --device cpu --warmup 1 --steps 2 --batch 2
# Which operator takes most time is not known beforehand, all of them are.
tidemark study kernels $shape --device cpu --warmup 1 --steps 2 --format json >printed
jq -r '.tables.operators.rows[] | keys_unsorted[0:3] as $keys | [.[$keys[]]] | join(",")' printed | sort
jq -r '.tables.operator_products.rows[].phase' printed
grep -c 'the operator with most time in forward is .* of the full step; in attention softmax takes' printed
# The virtual device has no times: where they are all there is to tell, nothing is run.
run end-to-end --device virtual --size small,2.7B --memory-limit 4GiB
run kernels $shape --device virtual
# A ratio has one cause: runs that differ in two things are not compared with each other.
run end-to-end $shape --mode forward,train --context 16,32 --device cpu --warmup 1 --steps 2 | grep 'takes' | sed -E 's/;.*//'
