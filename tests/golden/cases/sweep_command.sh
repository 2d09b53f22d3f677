# sweep runs a grid of a command of the user's on virtual cards. A script stands in for PyTorch.
# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
training=$golden/../support/fake_training.sh
# The folder, the host and what the script itself took of it are not the same everywhere.
clean() { sed -E -e 's/(environment[^:]*: [^;]*;).*/\1 .../' -e "s#$golden/../support/##" -e 's/[0-9.]+ MiB( +[0-9]+)?$/HOST\1/'; }
run() { tidemark sweep "$@" 2>&1 | clean; echo "exit ${PIPESTATUS[0]}"; }
set -- --device virtual:h100-80,virtual:a100-40 --set batch=8,16 --set ctx=1024,4096
run "$@" -- "$training" --batch {batch} --ctx {ctx}
tidemark sweep "$@" --resume --format csv -- "$training" --batch {batch} --ctx {ctx} 2>/dev/null >table.csv
"$golden/csv_columns" table.csv cell,card,batch,ctx,outcome,steps_done,allocated_peak_bytes,reserved_peak_bytes,margin_bytes,inexact_calls
head -n 1 table.csv
# Shards and their union.
for part in 1 2; do
    tidemark sweep "$@" --shard $part/2 -- "$training" --batch {batch} --ctx {ctx} 2>&1 | head -n 1
done
tidemark sweep --merge sweep-1-of-2.jsonl sweep-2-of-2.jsonl --format csv 2>/dev/null >joined.csv
for table in table joined; do
    "$golden/csv_columns" $table.csv -host_peak_bytes,environment >$table.rows
done
cmp table.rows joined.rows && echo "the same table"
# A file is of one command: another one cannot go on with it.
run "$@" --resume -- "$training" --batch {batch} --ctx {ctx} --mib-per-token 2 | cut -c1-60
# Nor can one with other values, and what is not the default is said.
run "$@" --resume --values zero -- "$training" --batch {batch} --ctx {ctx}
run --device virtual:h100-80 --set batch=8 --values zero --streams late --writes allow --calls 2 -o told.jsonl -- "$training" --batch {batch} |
    sed -n '2p;7p'
# Cells that would not fit with all rows of what the program assumed.
run --device virtual:h100-80 --memory-limit 2GiB --set batch=1,8,10 -o assumed.jsonl -- "$training" --batch {batch} --mask-mib 40 | grep assumed
tail -n 1 assumed.jsonl | jq -c '.result | with_entries(select(.key | startswith("assumed")))'
# Cells that leave less than what is not measured of this card.
run --device virtual:rtx3090-24 --memory-limit 2GiB --set batch=1,8,9,99 -o near.jsonl -- "$training" --batch {batch} --ctx 100 | grep near
tidemark sweep --device virtual:rtx3090-24 --memory-limit 2GiB --set batch=1,8,9,99 -o near.jsonl --resume --format json -- \
    "$training" --batch {batch} --ctx 100 2>/dev/null | jq -c '.tables.cells.rows[] | [.batch, .outcome, .fits, .unmeasured_bytes]'
# The file ends as kill -9 would leave it: one cell is run.
head -c -300 sweep.jsonl >cut.jsonl
run "$@" --resume -o cut.jsonl -- "$training" --batch {batch} --ctx {ctx} | head -n 2
# A cell that fails later has a row with the program's last words; at the first cell nothing else is tried.
run --device virtual:h100-80 --set batch=8,16,24 -o later.jsonl -- "$training" --batch {batch} --die-at 16
run --device virtual:h100-80 --set batch=8,16,24 -o first.jsonl -- "$training" --batch {batch} --die "ValueError: odd" | head -n 3
run --device virtual:h100-80 --set batch=8,16,24 -o first.jsonl --resume -- "$training" --batch {batch} --die "ValueError: odd" | tail -n 2
run --device virtual:h100-80 --set kind=a/b,bf16 --memory-limit 2GiB --steps 5 -o kinds.jsonl -- "$training" --ctx 500 --die-at {kind} |
    tail -n 5
jq -r 'select(.name) | .name' kinds.jsonl
# Bad input gets one line.
run --device virtual:h100-80 --set batch=8 --values all -- "$training" --batch {batch}
run --device virtual:h100-80 --writes allow
run --device virtual:h100-80 --time
for set in batch=8, batch= "batch=8, " =8 batch batch=8,8 other=1; do
    run --device virtual:h100-80 --set "$set" -o bad.jsonl -- "$training" --batch {batch}
done
run --device virtual:h100-80 --set batch=8
run --device virtual:h100-80 --set batch=8 --
run --set batch=8 -- "$training" --batch {batch}
run --device auto --set batch=8 -- "$training" --batch {batch}
run --device virtual:h100-80,virtual:h100-80 --set batch=8 -- "$training" --batch {batch}
run --device virtual:h100-80, --set batch=8 -- "$training" --batch {batch}
run --device virtual:h100-80 --set batch=8 --set batch=9 -- "$training" --batch {batch}
run --device virtual:h100-80 --set kind=a/b,a_b -- "$training" --batch {kind}
run --device virtual:h100-80 --set batch=8 --size small -- "$training" --batch {batch}
run --device virtual:h100-80 --set batch=8 -- no-such-program {batch}
ls
