# What run tells beside its five lines. A script stands in for PyTorch: it leaves what the package tidemark would leave.
# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
cat >program.sh <<'END'
card() { printf '{"allocated": %d, "reserved": %d, "retries": 0, "out_of_memory": 0}' $(($1 << 20)) $(($2 << 20)); }
leave() { # PID EXCEPTION CARDS N_ROWS
    printf '{"rank": -1, "n_steps": 1, "n_calls": 1, "host_peak_bytes": 1000, "is_out_of_memory": false, "ended_early": false,
"torch": "0.0.0", "cuda": "0.0", "python": "0.0", "backend": "native", "exception": "%s", "command": [], "n_rows": [%s],
"marks": [], "names": [], "peaks": [%s]}' "$2" "${4:-0}" "$3" >"$TIDEMARK_RUN_FOLDER/$1.json"
}
case $1 in
cards) leave 11 "" "$(card 10 20),$(card 0 0),$(card 300 320)" 0,0,0; leave 12 "" "$(card 0 0),$(card 0 0),$(card 40 60),$(card 5 6)" 0,0,0,0 ;;
inexact)
    leave 11 "" "$(card 10 20)"
    for name in cufftExecC2C cufftExecR2C cufftExecZ2Z; do
        printf 'inexact\t%s\tits workspace is not known\t1048576\n' $name
    done >"$TIDEMARK_RUN_FOLDER/11.card"
    printf 'refused\tcuX\tnot simulated\ninexact\ta\tsame\ninexact\tb\tsame\ninexact\tc\tsame\ninexact\td\tsame\ninexact\te\tsame\n' >>"$TIDEMARK_RUN_FOLDER/11.card"
    printf 'inexact\tf\tsame\ninexact\tlast\tnobody reads that\n' >>"$TIDEMARK_RUN_FOLDER/11.card"
    printf 'inexact\tcufftExecC2C\tits workspace is not known\t1048576\n' >"$TIDEMARK_RUN_FOLDER/12.card" ;;
ranks) # a card of its own each: what is said is said of a card
    leave 11 "" "$(card 10 20)"
    leave 12 "" "$(card 0 0),$(card 10 20)" 0,0
    for pid in 11 12; do
        sed -i "s/\"rank\": -1/\"rank\": $((pid - 11)), \"world_size\": 2/" "$TIDEMARK_RUN_FOLDER/$pid.json"
        printf 'inexact\tcufftExecC2C\tthe workspace is unknown\t%d\n' $((pid << 20)) >"$TIDEMARK_RUN_FOLDER/$pid.card"
        printf 'inexact\tcufftExecR2C\tthe workspace is unknown\t%d\n' $((1 << 20)) >>"$TIDEMARK_RUN_FOLDER/$pid.card"
    done ;;
places) # the line of the largest bound, and of what has no bound
    leave 11 "" "$(card 10 20)"
    printf 'inexact\tcufftExecC2C\tthe workspace is unknown\t%d\t%s\n' 1048576 'forward (net.py:6)' 2097152 'last (net.py:9)' >"$TIDEMARK_RUN_FOLDER/11.card"
    printf 'inexact\ttruth\ta truth value is computed on the card\t-1\tmain (net.py:12)\n' >>"$TIDEMARK_RUN_FOLDER/11.card"
    printf 'inexact\tinteger\tan integer is computed on the card\t-1\t\n' >>"$TIDEMARK_RUN_FOLDER/11.card" ;;
assumed) # PID.assumed: what python/tidemark assumed; rows are padded with blanks
    leave 11 "" "$(card 10 20)"
    printf 'loss.py:31\tmask\t4096\t4096\t8192\t3\t481280\t%s   \n' "${2:-1971322880}" >"$TIDEMARK_RUN_FOLDER/11.assumed"
    [ $# -lt 3 ] || printf '%b' "$3" >>"$TIDEMARK_RUN_FOLDER/11.assumed" ;;
assumed_ranks)
    leave 11 "" "$(card 10 20)"
    leave 12 "" "$(card 0 0),$(card 10 20)" 0,0
    for pid in 11 12; do
        sed -i "s/\"rank\": -1/\"rank\": $((pid - 11)), \"world_size\": 2/" "$TIDEMARK_RUN_FOLDER/$pid.json"
        printf 'moe.py:9\tmask\t%d\t4216\t16384\t48\t2048\t%d\n' $((3985 + pid)) $((pid << 33)) >"$TIDEMARK_RUN_FOLDER/$pid.assumed"
    done ;;
pools) # PID.pool: the caches of keys and values of two equal workers, and of others that differ in one figure
    leave 11 "" "$(card 10 20)"
    for pid in 11 12; do printf 'vLLM\t62352261120\t475616\t131072\t-1\t-1\t363\t0\t0\n' >"$TIDEMARK_RUN_FOLDER/$pid.pool"; done
    printf 'vLLM\t1073741824\t8192\t4096\t-1\t-1\t200\t1\t-1\nhalf a row' >"$TIDEMARK_RUN_FOLDER/13.pool"
    printf 'vLLM\t62352261120\t475600\t131072\t-1\t-1\t363\t0\t0\nvLLM\t62352265216\t475616\t131072\t-1\t-1\t363\t0\t0\n' >"$TIDEMARK_RUN_FOLDER/14.pool"
    printf 'vLLM\t62352261120\t475616\t65536\t-1\t-1\t725\t0\t0\n' >"$TIDEMARK_RUN_FOLDER/15.pool" ;;
small_pool)
    leave 11 "RuntimeError: Engine core initialization failed" "$(card 10 20)"
    printf 'vLLM\t6259914997\t-1\t%d\t65536\t8589934592\t-1\t0\t-1\n' "$2" >"$TIDEMARK_RUN_FOLDER/12.pool"
    exit 1 ;;
xla) # PID.xla: XLA's own figures, of one card or two
    leave 11 "" "$(card 60742 60742)"
    printf 'device\t0\t2919238656\t63692865536\t2919235788\t-1\t0\t0\t\narray\t1073741824\t8\tmain (train.py:10)\narray\t64\t1\ttrain.py:3\n' >"$TIDEMARK_RUN_FOLDER/11.xla"
    [ "$2" = 1 ] || printf 'device\t1\t-1\t-1\t2919235788\t-1\t0\t0\t\n' >>"$TIDEMARK_RUN_FOLDER/11.xla" ;;
xla_full)
    leave 11 "" "$(card 1000 1000)"
    printf 'device\t0\t2919238656\t3000000000\t-1\t17179869184\t1\t0\tmain (train.py:10)\n' >"$TIDEMARK_RUN_FOLDER/11.xla"
    exit 1 ;;
foreign)
    leave 11 "AcceleratorError: CUDA error: no kernel image is available for execution on the device" "$(card 10 20)"
    printf 'inexact\tkernels\tthe CUDA code of the program was not built for compute capability 7.0: its kernels fail there\n' >"$TIDEMARK_RUN_FOLDER/11.card"
    exit 1 ;;
launches) leave 11 "" "$(card 10 20)"; python3 "$2" "$TIDEMARK_RUN_FOLDER/11.launches" ${3:+"$3"} ;;
fails) leave 11 "$2" "$(card 10 20)"; exit 1 ;;
esac
END
run() { tidemark run "$@" 2>&1 | grep -v 'there is no report' | sed 's/^tidemark run: //'; echo; }
run --device virtual:h100-80x3+a100-40 -- sh program.sh cards
run --device virtual:h100-80 -- sh program.sh inexact
run --device virtual:h100-80x2 -- sh program.sh ranks
run --device virtual:h100-80 -- sh program.sh places
run --device virtual:h100-80 -- sh program.sh assumed
run --device virtual:h100-80 -- sh program.sh assumed 200000000000 # more than the card has left
others='moe.py:9\tmask\t3985\t4216\t16384\t48\t0\t91000000000\nbox.py:2\tdetections\t85\t85\t300\t1\t16\t3440\ngraph.py:5\tunique values\t1\t1\t1\t1\t16\t0\n'
others="$others"'edge.py:5\tnonzero\t7\t7\t9\t1\t0\t0\ntrain.py:12\ttruth value\t1\t1\t0\t3\t0\t0\ntrain.py:13\ttruth value\t0\t1\t0\t1\t0\t0\n\tnumber\t0\t0\t0\t1\t0\t0\nhalf a row'
run --device virtual:h100-80 -- sh program.sh assumed 1000 "$others" # the other mask is the one that counts
run --device virtual:h100-80 -- sh program.sh assumed 70000000000 "d.py:1\tmask\t1\t1\t9\t1\t8\t70000000000\n" # only both together
run --device virtual:h100-80 -- sh program.sh assumed 0 "$(printf '%s' "$others" | sed 's/\\n/\n/g' | sed -n '3,7p' | sed 's/$/\\n/' | tr -d '\n')"
run --device virtual:h100-80x2 -- sh program.sh assumed_ranks
run --device virtual:h100-80 -- sh program.sh pools
run --device virtual:rtx4090-24 -- sh program.sh small_pool 47744
run --device virtual:rtx4090-24 -- sh program.sh small_pool -1
run --device virtual:h100-80 -- sh program.sh xla 1
run --device virtual:h100-80 -- sh program.sh xla 2
run --device virtual:h100-80 --memory-limit 4GiB -- sh program.sh xla_full
run --device virtual:v100-16 -- sh program.sh foreign
run --device virtual:gb10 -- sh program.sh assumed 1000 | sed 's/used [0-9.]* [MG]iB here/used some here/' # its memory is the host's, too
run --device virtual:h100-80 --clock virtual -- sh program.sh cards | grep clock
run --device virtual:h100-80 --clock virtual -- sh program.sh launches "$golden/launches/make_launches.py" | grep clock
run --device virtual:h100-80 --clock virtual --host-factor 0.7 -- sh program.sh launches "$golden/launches/make_launches.py" guessed | grep clock
for exception in "AssertionError: loss is nan" "" "ImportError: no module" "OSErrorX" \
    "AcceleratorError: CUDA error: invalid device ordinal"; do
    run --device virtual:h100-80 -- sh program.sh fails "$exception"
done
# Without a limit, the need and the card, also with all rows of what was assumed.
for mib in 1 5000 99999; do
    run --device virtual:h100-80 --memory-limit 1GiB --need -- "$golden/../support/fake_training.sh" --mib-per-token 2000 --mask-mib $mib | grep "without a limit"
done
