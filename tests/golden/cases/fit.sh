# fit: what it names fits, and what comes next does not, as profile has it.
ask() { # OPTION... : the values that fit and do not, for profile to try
    tidemark fit "$@" --format csv | sed -n '/^run,/,$p' | sed -n 2p | cut -d, -f3,9 | tr , ' '
}
run() { tidemark profile "$@" --no-record --format csv >profiled 2>&1; echo "$*: exit $?"; }

tidemark fit --size 2.7B --context 512 --device virtual:h100-80; echo "exit $?"
read -r largest next < <(ask --size 2.7B --context 512 --device virtual:h100-80)
run --size 2.7B --context 512 --device virtual:h100-80 --batch "$largest"
run --size 2.7B --context 512 --device virtual:h100-80 --batch "$next"

# Under pressure the cache gives back what it holds and goes on.
read -r largest next < <(ask --mode forward --context 512 --memory-limit 3GiB)
run --mode forward --context 512 --memory-limit 3GiB --device virtual --batch "$largest"
run --mode forward --context 512 --memory-limit 3GiB --device virtual --batch "$next"

read -r largest next < <(ask --find context --multiple-of 128 --size medium --precision bf16 --memory-limit 24GiB)
run --size medium --precision bf16-mixed --device virtual --memory-limit 24GiB --context "$largest"
run --size medium --precision bf16-mixed --device virtual --memory-limit 24GiB --context "$next"

read -r largest next < <(ask --find model --device virtual:a100-40)
run --device virtual:a100-40 --size "$largest"
run --device virtual:a100-40 --size "$next"

# PyTorch's allocations fit and do not fit where it says.
tidemark fit --size medium --context 256 --precision bf16 --device virtual:rtx4090 --format csv | sed -n '/^run,/,/^#/p' | sed '/^#/d' |
    cut -d, -f1,11
batch=$(tidemark fit --size medium --context 256 --precision bf16 --device virtual:rtx4090 --format csv |
    sed -n '/^medium/p' | cut -d, -f11)
set -- --residuals eager --size medium --context 256 --precision bf16-mixed --device virtual:rtx4090
run "$@" --batch "$batch"
run "$@" --batch $((batch + 1))
