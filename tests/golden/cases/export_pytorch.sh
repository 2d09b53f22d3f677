# A snapshot exported for PyTorch's tools and read back has the same rows. The reader never executes code in a pickle.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 -o run.json.gz >/dev/null
tidemark export run.json.gz --to pytorch -o run.pickle
tidemark export run.json.gz --to pytorch-json | jq -c 'keys, (.device_traces[0][0] | del(.frames, .time_us))'
tidemark dump run.json.gz | cut -f3-9,11 >before
tidemark dump run.pickle | cut -f3-9,11 >after
cmp before after && echo "the same rows"
tidemark compare run.pickle run.json.gz | sed 1q
# The JSON of PyTorch's file and our own format of it give the same report.
tidemark export run.pickle --to pytorch-json -o run.json
tidemark export run.pickle --to tidemark -o own.json.gz
tidemark summary run.pickle | sed 1d >from_pickle
for file in run.json own.json.gz; do
    tidemark summary $file | sed 1d | cmp - from_pickle && tidemark dump $file | cut -f3-9,11 | cmp - before && echo "$file: the same"
done
tidemark export run.json --to tidemark | jq -c .origin
# A value that the reports only display may have an unusual type.
tidemark export run.json --to tidemark | sed 's/"inlined":\[0,0/"inlined":[7,null/; s/"line":\[[0-9]*/"line":[18446744073709551615/' >odd.json
tidemark summary odd.json | sed 1d | cmp - from_pickle && echo "odd.json: the same"
tidemark export run.pickle --to pytorch -o run.pickle
echo "exit $?" >&2
printf '\200\004cos\nsystem\n(S"true"\ntR.' >evil.pickle
tidemark summary evil.pickle
echo "exit $?" >&2
tidemark view run.pickle
ls
