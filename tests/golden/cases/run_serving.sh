# What servers of language models and XLA report is printed once by a run, and kept: explain prints the same from its snapshot.
# A script stands in for the program: it leaves a history of PyTorch's, and what an engine without a history reports.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
cat >program.sh <<'END'
python3 "$1" >"$TIDEMARK_RUN_FOLDER/11.pickle"
printf '{"rank": -1, "n_steps": 1, "n_calls": 1, "host_peak_bytes": 1000, "is_out_of_memory": false, "ended_early": false,
"torch": "0.0.0", "cuda": "0.0", "python": "0.0", "backend": "native", "exception": "", "command": [], "n_rows": [1000],
"marks": [], "names": [], "peaks": [{"allocated": 77594624, "reserved": 1073741824, "retries": 0, "out_of_memory": 0}]}' >"$TIDEMARK_RUN_FOLDER/11.json"
case $2 in
served) printf 'vLLM\t62352261120\t475616\t131072\t-1\t-1\t363\t0\t0\n' >"$TIDEMARK_RUN_FOLDER/11.pool" ;;
again) printf 'vLLM\t62352261120\t475616\t131072\t-1\t-1\t363\t0\t0\n%.0s' 1 2 >"$TIDEMARK_RUN_FOLDER/11.pool" ;;
refused) printf 'vLLM\t6259914997\t-1\t47744\t65536\t8589934592\t-1\t0\t-1\n' >"$TIDEMARK_RUN_FOLDER/12.pool"; exit 1 ;;
survived) printf 'vLLM\t6259914997\t-1\t47744\t65536\t8589934592\t-1\t0\t-1\n' >"$TIDEMARK_RUN_FOLDER/12.pool" ;;
xla) printf 'device\t0\t2919238656\t63692865536\t-1\t-1\t0\t1\t\narray\t64\t1\ttrain.py:3\n' >"$TIDEMARK_RUN_FOLDER/11.xla" ;;
esac
END
for what in served again refused survived xla; do
    echo "== $what"
    tidemark run --device virtual:h100-80 -o $what.json.gz -- sh program.sh "$golden/snapshots/make_training.py" $what 2>&1 |
        grep -E "KV cache of|XLA|JAX" | sed 's/^tidemark run: //'
    echo "-- explain"
    tidemark explain $what.json.gz | grep -E "KV cache of|XLA|JAX"
done
echo "== a card that shares the host's memory, and that nothing used"
tidemark run --device virtual:gb10 -o shared.json.gz -- sh program.sh "$golden/snapshots/make_training.py" served 2>&1 | grep -E "it fits" | sed 's/^tidemark run: //'
