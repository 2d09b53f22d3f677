# Truncated, foreign, empty and missing files each give a message of one line.
tidemark profile --device virtual --layers 1 --steps 1 --warmup 0 -o run.json.gz >/dev/null
head -c 500 run.json.gz >truncated.json.gz
echo "not a snapshot" >foreign.json.gz
echo '{"format": "something-else", "version": 1}' | gzip >other.json.gz
echo '{"format": "tidemark-snapshot", "version": 99}' | gzip >newer.json.gz
: >empty.json.gz
python3 "$golden/launches/make_launches.py" step.launches
mkdir folder
for file in truncated.json.gz foreign.json.gz other.json.gz newer.json.gz empty.json.gz step.launches missing.json.gz folder; do
    tidemark view "$file" -o report.html
    echo "exit $?" >&2
done
ls
