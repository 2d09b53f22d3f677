# Brief device benchmarks print their rows. The figures are meaningless, so the case removes them.
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
for name in matmul layernorm gemv gather-gemv mlp-norm layer-forward layer-backward copy mlp; do
    tidemark bench "$name" --device cpu --brief --rounds 2 --samples --record all.csv --format json >"$name.json" ||
        echo "exit status $?"
    jq -r '.tables.figures.rows[] |
        "\(.case) \(.dtype) \(.min_us > 0 and .median_us >= .min_us and (.tflops // .gb_per_s) > 0)"' "$name.json"
    jq -r '.tables.samples.rows | length' "$name.json"
    jq -r '[.tables.environment.rows[].what] | join(", ")' "$name.json"
done
cut -d, -f1-3,5-10 all.csv
cut -d, -f4,11 all.csv | grep -cE '^[0-9]+[.][0-9]{6},[0-9]+[.][0-9]{6}$'

# The growth benchmark prints a row for each multiple and an exponent for each quantity that it varies.
tidemark bench mlp-scaling --device cpu --brief --rounds 1 --record growth.csv --format json >growth.json ||
    echo "exit status $?"
jq -r '.tables.figures.rows[] | "\(.varied) \(.value) \(.factor) \(.ratio > 0)"' growth.json
jq -r '.tables.exponents.rows[] | "\(.varied) \(.expected)"' growth.json
cut -d, -f1-3,5-10 growth.csv
tidemark bench mlp-scaling --device cpu --brief --rounds 1 --vary dim --dim 4 --format csv 2>growth.notes | grep -c '^dim,'

# The benchmark compares the mean over the sizes with the target.
tidemark bench matmul --device cpu --brief --rounds 2 --sizes 16,32 --dtype fp32,bf16 --target 1e-9 --format csv --table records >ok.csv
echo "exit status $?"
grep -E '^matmul,' ok.csv | cut -d, -f1-4,6-
tidemark bench gemv --device cpu --brief --rounds 2 --target 1e9 --format json >missed.json
echo "exit status $?"
jq -r '.tables.records.rows[] | "\(.case) \(.dtype) \(.target) \(.result)"' missed.json

# A size that exceeds the device memory becomes a row and the others still run. The size is in terabytes, so that no
# machine can hold it.
no_memory() {
    tidemark bench "$@" --device cpu --brief --rounds 1 --format json >unfit.json
    echo "exit status $?"
    jq -r '.tables.figures.rows[] | "\(.case // .value) \(.outcome) \(.median_us != null)"' unfit.json
    jq -r '.. | strings | select(test("asked for")) | gsub("[0-9.]+ ([KMGT]i)?B"; "N") | sub("[0-9]+ bytes"; "N bytes")' unfit.json
}
no_memory layernorm --batch 1048576 --sizes 1048576,1 --dtype bf16 --record unfit.csv
cut -d, -f1,5,8 unfit.csv
jq -r '.. | strings | select(test("rows"))' unfit.json
no_memory mlp --dim 1048576
no_memory mlp-scaling --dim 1048576 --vary batch

# The share of the peak needs a known peak rate.
tidemark bench mlp-norm --device cpu --brief --rounds 2 --peak-tflops 1e-6 --format json |
    jq -r '.tables.figures.rows[] | .utilization > 0'
tidemark bench mlp-norm --device cpu --brief --rounds 2 --target 0.8 2>&1 >share.txt | sed 's/for .*:/for CPU:/'

# The command refuses invalid options before it measures anything.
tidemark bench matmul --device virtual --brief
tidemark bench matmul --device cpu --dtype tf32 --brief
tidemark bench gemv --device cpu --dtype tf32
tidemark bench gemv --device cpu --calls 10
tidemark bench gemv --device cpu --batch 3
tidemark bench mlp --device cpu --dim 0
tidemark bench mlp-scaling --device cpu --vary width
tidemark bench allocator --record all.csv
tidemark bench allocator --device auto
tidemark bench matmul --device cpu --brief --gate
tidemark bench gemv --device cpu --brief --peak-tflops 1
tidemark bench gemv --device cpu --brief --target 0
tidemark bench matmul --device cpu --sizes 0
tidemark bench matmul --device cpu --record all.csv/more.csv
echo "exit status $?"
tidemark bench suite --device cpu --dtype bf16
tidemark bench suite --device cpu --samples
echo 'a,"b' >bad.csv
tidemark bench gemv --device cpu --brief --rounds 1 --record bad.csv >bad.txt
echo "exit status $?"

# The suite runs the four benchmarks of gpt_fast, whatever becomes of the others, and makes the folders of its file. It
# adds to a file that is there.
suite() {
    tidemark bench suite --device cpu --brief --rounds 1 --no-flush --record new/folder/suite.csv --format json "$@" >suite.json
    echo "exit status $?"
    jq -r '.tables.figures.rows[] | "\(.benchmark) \(.case) \(.dtype) \(.outcome) \(.median_us > 0)"' suite.json
    jq -r '.figures | "\(.rounds) \(.unfit_cases) \(.failed_benchmarks)"' suite.json
    jq -r '.tables.records.rows[] | "\(.name) \(.dtype) \(.metric) \(.target) \(.target_card)"' suite.json
    jq -r '.. | strings | select(test("not measured|rows of"))' suite.json
}
suite
suite --peak-tflops 1 --sizes 100000
cut -d, -f1-3,5-10 new/folder/suite.csv

# The MLP has one call of warm-up and three samples unless told otherwise, the others three and fifteen.
for name in mlp mlp-scaling matmul; do
    tidemark bench "$name" --device cpu --brief --samples --format json >samples.json
    jq -r '(.figures.rounds | tostring) + " " + ([.tables.samples.rows[].round] | max | tostring)' samples.json
done

# A single sample has no spread.
tidemark bench gemv --device cpu --brief --rounds 1 --format json |
    jq -c '[.tables.figures.rows[] | .iqr_us, .sample_std_us] | unique'
