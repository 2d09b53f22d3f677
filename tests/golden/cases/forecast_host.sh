# Forecasts of time of sweep and fit use calibrations as `run --time` does, and say so. A script stands in for PyTorch.
# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
training=$golden/../support/fake_training.sh
. "$golden/../support/made_calibration.sh"
export XDG_CONFIG_HOME=$PWD/config
mkdir -p config/tidemark
for batch in 1 2 3 4; do # batch 2 moves twice the bytes of batch 1
    python3 "$golden/launches/make_launches.py" "$batch.launches" one $((batch * 1000000000))
done
clean() { sed "s|$PWD|.|g; s|($cpu|(THIS PROCESSOR|g; s|$golden/../support/||"; }
sweep() { # [OPTION...]
    echo "-- sweep $*"
    rm -f out.jsonl
    tidemark sweep --device virtual:h100-80 --set batch=1,2 -o out.jsonl "$@" -- "$training" --batch {batch} --launches {batch}.launches \
        >out.txt 2>&1
    status=$?
    echo "exit $status"
    if [ $status = 0 ]; then grep -E "the host's time|is a model" out.txt; else cat out.txt; fi | clean
    jq -r 'select(.result.forecast_step_ms) | .result | [.forecast_step_ms, .forecast_step_low_ms, .forecast_step_high_ms] |
        map(. * 1000 | round) | "\(.) us"' out.jsonl 2>/dev/null
}
fit() { # [OPTION...]
    echo "-- fit $*"
    tidemark fit --device virtual:h100-80 --vary batch=1..4 "$@" -- "$training" --batch {batch} --launches {batch}.launches 2>&1 |
        grep -vE '^ |^$|^what fits' | clean
    echo "exit ${PIPESTATUS[0]}"
}
made there 9 11 "$gpu" >there.json
sweep --time
sweep --time --host there.json # nothing to compare it with
fit --max-step-ms 0.76
fit --max-step-ms 0.1
made "another processor" 11 13 "" >config/tidemark/calibration.json
sweep --time
made "$cpu" 11 13 "" >config/tidemark/calibration.json
sweep --time
fit --max-step-ms 0.76
sweep --time --host there.json
fit --max-step-ms 0.76 --host there.json
# What was asked for stands in the file: another host does not go on with it, the same does.
for host in "--host there.json" "" "--host-factor 0.3"; do
    # shellcheck disable=SC2086
    tidemark sweep --device virtual:h100-80 --set batch=1,2 -o out.jsonl --resume --time $host -- "$training" --batch {batch} \
        --launches {batch}.launches 2>&1 | head -n 1
done
# Of several cards only the one that was measured has its own rates.
tidemark sweep --device virtual:h100-80,virtual:rtx4090 --set batch=1 -o cards.jsonl --time --host there.json -- "$training" --batch {batch} \
    --launches {batch}.launches 2>&1 |
    grep -E "the host's time|is a model" | clean
tidemark sweep --merge cards.jsonl --format json 2>/dev/null | jq -r '.tables.cells.rows[] | .forecast_host' | clean
sweep --time --host-factor 0.3
fit --max-step-ms 0.74 --host-factor 0.3
# Bad input gets one line.
sweep --time --host there.json --host-factor 0.3
sweep --time --host absent.json
sweep --host there.json
fit --host-factor 0.3
tidemark sweep --device virtual:rtxpro6000 --set batch=1 --time -- "$training" --batch {batch} 2>&1
tidemark fit --device virtual:rtxpro6000 --vary batch=1..4 --max-step-ms 1 -- "$training" --batch {batch} 2>&1
tidemark sweep --device virtual:h100-80 --host there.json 2>&1
tidemark fit --device virtual:h100-80 --host-factor 2 2>&1
echo '{"format": "something"}' >config/tidemark/calibration.json
sweep --time
