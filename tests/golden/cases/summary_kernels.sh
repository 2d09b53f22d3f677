# The summary lists the traced kernels, the longest first and the rest in one row, and refuses contradictory tables. The
# rows and the uncertainty of the device's clock are invented.
tidemark profile --device virtual --layers 1 --warmup 0 --steps 1 -o run.json.gz >/dev/null
gzip -dc run.json.gz | jq -c '(.strings | length) as $n
    | .strings += ["sm90_gemm", "void rmsnorm<float>", "forward", "forward > layer > ln1", "forward > layer > ffn", ""]
    | .clock.device_uncertainty_ns = 4321
    | .timing.phases = [{name: "forward", host_ms: [1], device_ms: [2]}]
    | .kernels = {name: [$n, $n + 1, $n], phase: [$n + 2, $n + 2, -1], path: [$n + 4, $n + 3, $n + 5],
        launches: [600, 200, 1], total_ns: [3000000, 500000, 7000], mean_ns: [5000, 2500, 7000], min_ns: [4000, 2000, 7000],
        max_ns: [9000, 3000, 7000]}' >traced.json
tidemark summary traced.json | sed -n '/^Time/,$p'
tidemark summary traced.json --top 1 | sed -n '/^Kernels/,$p'
tidemark summary traced.json --format csv --table kernels | grep -A3 'sm90_gemm'
refuse() { tidemark summary bad.json 2>&1 | sed -E 's/byte [0-9]+/byte N/; s/the [0-9]+ strings/the N strings/' >&2; }
jq -c '.kernels.max_ns[1] = 600000' traced.json >bad.json
refuse
jq -c '.kernels.path[1] = 100000' traced.json >bad.json
refuse
jq -c 'del(.kernels.mean_ns)' traced.json >derived.json
tidemark summary derived.json | sed -n '/^Kernels/,$p' | head -n 3
