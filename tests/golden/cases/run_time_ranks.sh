# A job is as slow as its slowest rank: run --time tells that rank's forecast, and the range of the fastest. A script
# stands in for PyTorch.
# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
export training=$golden/../support/fake_training.sh
for rank in 0 1 2; do # rank 1 moves the most bytes, rank 2 takes the most memory
    python3 "$golden/launches/make_launches.py" "$rank.launches" one $(((1 + rank % 2 * 2) * 1000000000))
done
python3 "$golden/launches/make_launches.py" guessed.launches guessed
job() { # COMMAND: its ranks, one after the other
    tidemark run --device virtual:h100-80 --time --host-factor 0.5 -o job.json.gz -- bash -c "$1" 2>&1 | grep -E 'forecast|fits'
}
# shellcheck disable=SC2016
ranks='for rank in 0 1 2; do RANK=$rank "$training" --ctx $((1 + rank)) --launches $rank.launches; done'
job "$ranks"
echo "-- one rank alone"
job 'RANK=3 "$training" --launches 1.launches'
echo "-- of the slowest only a lower bound is known"
job "$ranks; RANK=3 \"\$training\" --launches guessed.launches"
echo "-- a rank without launches"
job 'RANK=0 "$training"; RANK=1 "$training" --launches 1.launches'
echo "-- a sweep, in us"
tidemark sweep --device virtual:h100-80 --set batch=1 -o out.jsonl --time --host-factor 0.5 -- bash -c "$ranks" {batch} >/dev/null 2>&1
jq -r 'select(.result.forecast_step_ms) | .result | [.forecast_step_low_ms, .forecast_step_ms, .forecast_step_high_ms] |
    map(. * 1000 | round)[]' out.jsonl
