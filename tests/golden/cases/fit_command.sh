# fit finds the largest value with which a command of the user's fits a virtual card. A script stands in for PyTorch.
# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
training=$golden/../support/fake_training.sh
# What the script itself took of the host differs from run to run.
run() { tidemark fit "$@" 2>&1 | sed -E 's/[0-9.]+ MiB( +[0-9]+ +(yes|near|no) +[-0-9]+)$/HOST\1/'; echo "exit ${PIPESTATUS[0]}"; }
run --device virtual:h100-80,virtual:a100-40 --vary batch=1..4096 -- "$training" --batch {batch} --ctx 100
run --device virtual:h100-80 --memory-limit 2GiB --vary batch=1..64 --multiple-of 4 -- "$training" --batch {batch} --mib-per-token 50
run --device virtual:h100-80 --memory-limit 2GiB --vary batch=1..4 -- "$training" --batch {batch}
run --device virtual:h100-80 --memory-limit 2GiB --vary batch=1..4 --steps 7 --format csv -- "$training" --batch {batch} --ctx 9999 |
    cut -d, -f1-6,11
tidemark fit --device virtual:h100-80 --vary batch=1..4096 --format json -- "$training" --batch {batch} --ctx 33 |
    jq -c '.figures | {largest, next, runs}'
# Values that the program assumed: said, and a condition if all rows would not fit.
run --device virtual:h100-80,virtual:a100-40 --vary batch=1..1000 -- "$training" --batch {batch} --ctx 100 --mask-mib 10
run --device virtual:h100-80 --vary batch=1..9 -- "$training" --batch {batch} --mask-mib 1
run --device virtual:h100-80 --memory-limit 2GiB --vary batch=1..10 -- "$training" --batch {batch} --mask-mib 20 --masks 3 # together
tidemark fit --device virtual:h100-80 --vary batch=1..1000 --format json -- "$training" --batch {batch} --ctx 100 --mask-mib 10 |
    jq -c '.figures.fits_with_all_rows, .tables.assumed.rows'
# The context of this card is not measured: the largest value is near the limit, and the largest with a margin is named.
run --device virtual:rtx3090-24 --memory-limit 20GiB --vary batch=1..4096 -- "$training" --batch {batch} --ctx 100
run --device virtual:rtx3090-24 --memory-limit 2GiB --vary batch=1..2 -- "$training" --batch {batch} --ctx 500
tidemark fit --device virtual:rtx3090-24 --memory-limit 20GiB --vary batch=1..4096 --format json -- "$training" --batch {batch} --ctx 100 |
    jq -c '[.figures | .fits, .largest, .largest_with_margin], (.tables.fits.rows[] | [.fits, .largest_with_margin])'
# Nothing fits: what no run told stays empty.
run --device virtual:h100-80 --memory-limit 1GiB --vary batch=1..4 -- "$training" --batch {batch} --ctx 99999
# A program that fails ends the search at once, with its own words. So does one that never used the card.
run --device virtual:h100-80 --vary batch=1..9 -- "$training" --batch {batch} --die "RuntimeError: {loss} is no number"
run --device virtual:h100-80 --vary batch=1..9 -- "$training" --batch {batch} --die-at 2
run --device virtual:h100-80 --vary batch=1..9 -- true {batch}
# What a single run takes is given on: the figures of the script tell.
for option in "--values shadow" "--values auto" "--values zero" "--streams late" "--writes allow" "--calls 2" "--calls 2 --steps 0"; do
    # shellcheck disable=SC2086
    tidemark fit --device virtual:h100-80 --vary batch=1..1 $option --format json -- "$training" --batch {batch} 2>/dev/null |
        jq -c '.figures.allocated_peak_bytes / 1048576'
done
# Bad input gets one line.
run --device virtual:h100-80 --vary batch=1..9 --steps 3 --calls 2 -- "$training" --batch {batch}
run --device virtual:h100-80 --vary batch=1..9 --streams both -- "$training" --batch {batch}
run --device virtual:h100-80 --values zero
for range in batch=1..a batch=5..1 batch batch=1.. =1..3 1b=1..3 batch=1..2..3 batch=8,16 batch=-1..4 other=1..2; do
    run --device virtual:h100-80 --vary "$range" -- "$training" --batch {batch}
done
run --device virtual:h100-80 --max-step-ms 60
run --device virtual:h100-80 --vary batch=1..9
run --device virtual:h100-80 --vary batch=1..9 --
run --device virtual:h100-80 -- "$training"
run --vary batch=1..9 -- "$training" --batch {batch}
run --device virtual:h100 --vary batch=1..9 -- "$training" --batch {batch} | cut -c1-100
run --device virtual --vary batch=1..9 -- "$training" --batch {batch}
run --device virtual:h100-80 --vary batch=1..9 --vary ctx=1..2 -- "$training" --batch {batch} --ctx {ctx}
run --device virtual:h100-80 --vary batch=1..9 --context 128 -- "$training" --batch {batch}
run --device virtual:h100-80 --vary batch=5..7 --multiple-of 8 -- "$training" --batch {batch}
run --device virtual:h100-80 --vary batch=1..9 -- no-such-program {batch}
