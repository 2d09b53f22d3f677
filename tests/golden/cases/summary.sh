# The summary lists the memory alive at the peak by category, phase and scope. The case leaves out call stacks, because
# their column widths depend on line numbers.
tidemark profile --device virtual --layers 1 --d-model 64 --heads 4 --d-ff 128 --vocab 500 --context 16 --batch 2 --steps 1 \
    --warmup 0 -o run.json.gz >/dev/null
tidemark summary run.json.gz | sed '/by call stack/,$d'
