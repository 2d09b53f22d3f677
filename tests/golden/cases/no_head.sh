# The base model: it ends at the output of the last norm, without lm_head, logits and loss.
peak() { gzip -dc "$1" | jq -c '[.run.model.size, .run.model.n_parameters, .timing.flops]'; }
tidemark profile --device virtual --size small --only-forward --warmup 0 --steps 1 -o head.json.gz >/dev/null
tidemark profile --device virtual --size small --only-forward --no-head --warmup 0 --steps 1 | grep -v '^environment'
peak head.json.gz
peak small-no-head-forward-c128-b4-fp32.json.gz
tidemark summary small-no-head-forward-c128-b4-fp32.json.gz --tree category,name | grep -cE 'lm_head|logits'
# The cpu computes it: there are times, and no loss.
tidemark profile --device cpu --d-model 32 --heads 2 --d-ff 64 --vocab 64 --layers 1 --batch 1 --context 8 --no-head --only-forward --warmup 1 --steps 2 -o cpu.json.gz --format json |
    jq -c '[.tables.phases.rows[].phase], .figures.loss'
tidemark study parameters --size small --no-head --table components --format csv 2>/dev/null
# Each model of a grid has its own.
echo '{"size": "small", "n_layers": 2, "no_head": true}' >base.json
echo '{"size": "small", "n_layers": 2, "no_head": false}' >full.json
tidemark sweep --device virtual --config base.json,full.json --mode forward --warmup 0 --steps 1 -o grid.jsonl --format csv | grep -v '^#' | cut -d, -f 1,2,9-10,22
tidemark sweep --device virtual --config base.json --mode forward,train --warmup 0 --steps 1 -o modes.jsonl --format csv 2>/dev/null | grep -v '^#' | cut -d, -f 1,10
tidemark forecast --device virtual:h100-80 --size 2.7B --no-head --mode forward
tidemark fit --device virtual:t4-16 --find model --no-head --mode forward --format csv 2>/dev/null | grep -v '^#' | head -4 | cut -d, -f 1-9
tidemark compare small-no-head-forward-c128-b4-fp32.json.gz pytorch:2026 --format json | jq -r '.tables | .. | objects | select(.category? == "parameter") | [.[] | numbers] | @csv' | head -1
# What it cannot be.
tidemark profile --device virtual --size small --no-head; echo "exit $?"
tidemark profile --device virtual --size small --no-head --mode forward-backward; echo "exit $?"
tidemark profile --device virtual --workload mlp --no-head; echo "exit $?"
tidemark profile --device virtual --workload decode --no-head; echo "exit $?"
echo '{"no_head": 1}' >bad.json
tidemark profile --device virtual --config bad.json; echo "exit $?"
echo '{"no_head": true}' >a-name-of-28-characters-----.json
tidemark sweep --device virtual --config base.json,a-name-of-28-characters-----.json --only-forward | grep rename
