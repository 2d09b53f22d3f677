# The time of tidemark's own model on a virtual card: a list, a graph, a card without a sourced rate, and where there is none.
shape="--size small --layers 2 --warmup 1 --steps 2"
# shellcheck disable=SC2086 # a list of options
{
tidemark profile $shape --device virtual:a100-80 --precision fp32,bf16-mixed -o runs | sed '/^report:/d'
tidemark summary runs/custom-train-c128-b4-bf16-mixed.json.gz | sed -n '/^forecast/p;/^Forecast time/,/^  step/p'
tidemark profile $shape --device virtual:h200 --attention naive --cuda-graph -o graph.json.gz | sed -n '/^forecast of time/,/kernel  /p'
tidemark profile $shape --device virtual:rtxpro6000 --no-record -o unsourced.json.gz | tail -2
tidemark profile $shape --device virtual:h100-80 --emulate pytorch --no-record -o eager.json.gz | tail -2
tidemark profile $shape --device virtual:h200 --format json -o json.json.gz | sed -nE '/^"forecast_[a-z_]*":[^[]/{s/(_ns":[0-9]+)[0-9]{4},/\10000,/;s/(\.[0-9]{3})[0-9]*/\1/;p}'
}
