# The case prints the first and the last events of a small run as text, without times and line numbers.
tidemark profile --device virtual --layers 1 --d-model 64 --heads 4 --d-ff 128 --vocab 500 --context 16 --batch 2 --steps 1 \
    --warmup 0 -o run.json.gz >/dev/null
tidemark dump run.json.gz | awk -F '\t' -v OFS='\t' '{ $2 = "TIME"; sub(/:[0-9]+$/, ":LINE") } NR <= 8 || NR > 131'
# An event of a PyTorch snapshot is told by the program's own code, not by PyTorch's recorder.
python3 "$golden/snapshots/make_training.py" >training.pickle
tidemark dump training.pickle 2>/dev/null | head -n 2
