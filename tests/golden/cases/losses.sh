# The losses show whether two runs computed the same: the case compares runs with equal seeds and with different seeds.
run() { tidemark profile --layers 2 --d-model 64 --heads 4 --d-ff 128 --vocab 500 --context 16 --batch 2 --steps 2 --warmup 1 "$@" >/dev/null 2>&1; }
show() { sed -n '/^Loss/,$p; /^loss/p' | sed -E 's/([0-9]\.[0-9]{2})[0-9]{4}\b/\1/g'; }
run --device cpu --overhead-pairs 0 -o a.json.gz
run --device cpu --overhead-pairs 0 -o b.json.gz --strip-private
run --device cpu --overhead-pairs 0 -o c.json.gz --seed 1
run --device virtual -o v.json.gz
tidemark compare a.json.gz b.json.gz | show
tidemark compare a.json.gz c.json.gz v.json.gz | show
tidemark summary b.json.gz | show
tidemark summary v.json.gz | grep -c loss:
gzip -dc b.json.gz | jq -c '.loss | length, (map(type) | unique)'
# Here a loss is not a number.
gzip -dc b.json.gz | sed -E 's/"loss":\[([^,]*),[^]]*\]/"loss":[\1,"nan","inf"]/' | gzip >odd.json.gz
tidemark summary odd.json.gz | show
tidemark compare b.json.gz odd.json.gz --format json | jq -c '.tables.loss.rows[] | [.step, .run2_loss | type]'
