# A snapshot for PyTorch's tools, and back: the rows are the same. Nothing in a pickle is run.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 -o run.json.gz >/dev/null
tidemark export run.json.gz --to pytorch -o run.pickle
tidemark export run.json.gz --to pytorch-json | jq -c 'keys, (.device_traces[0][0] | del(.frames, .time_us))'
tidemark dump run.json.gz | cut -f3-9,11 >before
tidemark dump run.pickle | cut -f3-9,11 >after
cmp before after && echo "the same rows"
tidemark compare run.pickle run.json.gz | sed 1q
tidemark export run.pickle --to pytorch -o run.pickle
echo "exit $?" >&2
printf '\200\004cos\nsystem\n(S"true"\ntR.' >evil.pickle
tidemark summary evil.pickle
echo "exit $?" >&2
tidemark view run.pickle
ls
