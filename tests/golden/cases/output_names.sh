# The ending of an output name selects the format, and a default name never replaces a user's file.
tiny=(--device virtual --layers 1 --steps 1 --warmup 0)
mkdir runs
tidemark profile "${tiny[@]}" --log run.log -o runs/run.json.gz >/dev/null
refused() {
    "$@" 2>&1 >/dev/null
    echo "status $?"
}
for name in snap.pickle snap.pkl snap.html snap.csv snap.folded snap.jsonl snap.log; do
    refused tidemark profile "${tiny[@]}" -o "$name"
done
refused tidemark replay runs/run.json.gz -o snap.pkl.gz
refused tidemark recover run.log -o snap.htm
refused tidemark view runs/run.json.gz -o snap.json.gz
refused tidemark export runs/run.json.gz --to csv -o snap.pickle
refused tidemark export runs/run.json.gz --to perfetto -o snap.csv
refused tidemark export runs/run.json.gz --to pytorch -o snap.json
refused tidemark sweep "${tiny[@]}" -o snap.json.gz
refused tidemark bench gemv --record snap.json
ls
echo "# JSON that is not compressed, and an ending that says nothing"
tidemark profile "${tiny[@]}" -o plain.json >/dev/null && jq -r .format plain.json
tidemark profile "${tiny[@]}" -o other >/dev/null && zcat other | jq -r .format
tidemark summary plain.json >plain.txt && tidemark summary other | diff - plain.txt | grep -c '^[<>]'
rm plain* other
echo "# The page is written here, and replaces a page"
tidemark view runs/run.json.gz
tidemark view runs/run.json.gz
cp run.html report.html
tidemark view runs/run.json.gz runs/run.json.gz
echo 'my own words' >run.html
cp run.html report.html
cp run.html custom-train-c128-b4-fp32.json.gz
cp run.html run.json.gz
refused tidemark view runs/run.json.gz
refused tidemark view runs/run.json.gz runs/run.json.gz
refused tidemark profile "${tiny[@]}"
rm custom-train-c128-b4-fp32.json.gz
refused tidemark profile "${tiny[@]}" --precision fp32,bf16
refused tidemark recover run.log
cat run.html report.html run.json.gz
echo "# Whoever names it wants it"
tidemark view runs/run.json.gz -o run.html
tidemark recover run.log -o run.json.gz
tidemark profile "${tiny[@]}" --precision fp32,bf16 -o runs | grep html
tidemark profile "${tiny[@]}" --precision fp32,bf16 -o runs | grep html
echo "# Records go to a file of records"
printf 'day,weight\nmonday,70\n' >table.csv
refused tidemark bench gemv --brief --record table.csv
cat table.csv
ls . runs
