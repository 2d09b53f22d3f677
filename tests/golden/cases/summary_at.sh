# The summary describes other instants than the peak, chosen by event, time or scope, and refuses invalid instants.
tidemark profile --device virtual --layers 1 --d-model 64 --heads 4 --d-ff 128 --vocab 500 --context 16 --batch 2 --steps 2 \
    --warmup 1 -o run.json.gz >/dev/null
for instant in start 100 'step[1] > backward' end; do
    echo "== $instant"
    tidemark summary run.json.gz --at "$instant" --top 2 | sed -e 1d -e 's/ ([0-9.]* ms)//' -e '/^Highest/,$d'
done
for instant in peak 2s 'warmup > forward > layer'; do
    tidemark summary run.json.gz --at "$instant" --top 2 2>&1 | sed -n 's/ ([0-9.]* ms)//; /the last event/s/[0-9.]* ms/N ms/; /allocated in\|no time/p'
done
for instant in 99999 1.5 9x forwards 'step[7]' 'step[' oom; do
    tidemark summary run.json.gz --at "$instant" >/dev/null 2>error || cat error
done
# The rows of the account add up to the reserved bytes in every format.
tidemark summary run.json.gz --at 100 --format json | jq -c '.tables.account | [([.rows[:-1][].bytes] | add), .rows[-1].bytes]'
tidemark summary run.json.gz --at 100 --format csv --table account
tidemark summary run.json.gz --at 100 --format markdown | grep '^| reserved.*sum'
tidemark summary run.json.gz --at 100 --format latex | grep '^reserved.*sum'
