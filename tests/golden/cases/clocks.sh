# The clocks of each phase: the host's with a wait at its end, the device's, and the sum of its kernels. The snapshot's
# rows are invented.
tidemark profile --device virtual --layers 1 --warmup 0 --steps 2 -o run.json.gz >/dev/null
gzip -dc run.json.gz | jq -c '(.strings | length) as $n
    | .strings += ["sm90_gemm", "void rmsnorm<float>", "forward", "backward", ""]
    | .devices[0].kind = "cuda"
    | .timing.phases_synced = true
    | .timing.phases = [{name: "forward", host_ms: [3.0, 3.5], device_ms: [2.5, 3.0]},
        {name: "backward", host_ms: [6.0, 7.0], device_ms: [6.0, 6.5]}, {name: "step", host_ms: [10, 11], device_ms: [9, 10]}]
    | .kernels = {name: [$n, $n + 1, $n], phase: [$n + 2, $n + 2, $n + 3], path: [$n + 4, $n + 4, $n + 4],
        launches: [600, 200, 100], total_ns: [3000000, 1000000, 11000000], mean_ns: [5000, 5000, 110000], min_ns: [4000, 2000, 7000],
        max_ns: [9000, 9000, 700000]}' >synced.json
clocks() { tidemark summary "$1" | sed -n '/^wall clock/p; /^step: the wall/p; /^the clocks/,/^$/p'; }
clocks synced.json
tidemark summary synced.json --format csv --table clocks
# Kernels that overlap; none traced; a phase that took no time; another device; no waits.
jq -c '.kernels.total_ns[2] = 19000000 | .kernels.mean_ns[2] = 190000' synced.json >overlap.json
clocks overlap.json
jq -c 'del(.kernels)' synced.json >untraced.json
clocks untraced.json
jq -c '.timing.phases[1].host_ms = [-1, -1]' synced.json >partly.json
clocks partly.json
jq -c '.devices[0].kind = "cpu"' synced.json >cpu.json
clocks cpu.json
jq -c 'del(.timing.phases_synced)' synced.json >unsynced.json
clocks unsynced.json
# A real run. The cpu device has no clock of its own.
shape="--device cpu --layers 1 --d-model 32 --heads 2 --d-ff 64 --vocab 100 --context 16 --warmup 1 --steps 2 --overhead-pairs 0"
tidemark profile $shape --sync-phases -o cpu.json.gz --format csv --table clocks | sed -E 's/[0-9.]+(e-[0-9]+)?/N/g'
gzip -dc cpu.json.gz | jq -c '.timing.phases_synced'
tidemark profile $shape -o plain.json.gz --format json | jq -c '.tables | keys'
gzip -dc plain.json.gz | jq -c '.timing.phases_synced'
