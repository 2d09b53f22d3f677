# profile confirms that the value that fit names does fit and that the next value does not.
ask() { # OPTION...: prints the largest value that fits and the next one, which profile then tries
    tidemark fit "$@" --format json | jq -r '.tables.fits.rows[-1] | "\(.largest) \(.next)"'
}
run() { tidemark profile "$@" --no-record --format csv >profiled 2>&1; echo "$*: exit $?"; }

tidemark fit --size 2.7B --context 512 --device virtual:h100-80; echo "exit $?"
read -r largest next < <(ask --size 2.7B --context 512 --device virtual:h100-80)
run --size 2.7B --context 512 --device virtual:h100-80 --batch "$largest"
run --size 2.7B --context 512 --device virtual:h100-80 --batch "$next"

# Near the limit, the cache releases its unused segments and retries.
read -r largest next < <(ask --mode forward --context 512 --memory-limit 3GiB)
run --mode forward --context 512 --memory-limit 3GiB --device virtual --batch "$largest"
run --mode forward --context 512 --memory-limit 3GiB --device virtual --batch "$next"

read -r largest next < <(ask --find context --multiple-of 128 --size medium --precision bf16 --memory-limit 24GiB)
run --size medium --precision bf16-mixed --device virtual --memory-limit 24GiB --context "$largest"
run --size medium --precision bf16-mixed --device virtual --memory-limit 24GiB --context "$next"

read -r largest next < <(ask --find model --device virtual:a100-40)
run --device virtual:a100-40 --size "$largest"
run --device virtual:a100-40 --size "$next"

# With either attention, PyTorch's emulated allocations fit up to the value that fit names and no further.
tidemark fit --size medium --context 256 --precision bf16 --device virtual:rtx4090 --format json |
    jq -r '.tables.fits.rows[:-1][] | "\(.run_by): \(.attention) \(.largest) \(.next)"' >pytorch
cat pytorch
set -- --emulate pytorch --size medium --context 256 --precision bf16-mixed --device virtual:rtx4090
while read -r _ _ attention largest next; do
    run "$@" --attention "$attention" --batch "$largest"
    run "$@" --attention "$attention" --batch "$next"
done <pytorch

# The exit status follows the forecast for PyTorch, even though our own model fits. Without a forecast, it follows our
# own model.
status() { tidemark fit "$@" >answer; echo "$*: exit $?"; }
status --size 2.7B --context 2048 --precision bf16-mixed --device virtual:h100-80
sed -n '/^what fits/,/^$/p; /^2.7B/p' answer
status --size 2.7B --context 2048 --precision bf16-mixed --device virtual:h100-80 --attention flash
sed -n '/^what fits/,/^$/p; /^2.7B/p' answer
status --size 2.7B --context 512 --precision bf16-true --device virtual:h100-80
sed -n '/^what fits/,/^$/p; /^2.7B/p' answer
status --size 2.7B --context 512 --clip-grad-norm 1 --device virtual:h100-80
grep forecast answer
status --size 2.7B --context 2048 --precision bf16-true --device virtual:a100-40
