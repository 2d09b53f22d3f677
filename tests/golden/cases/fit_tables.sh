# fit prints lists and cards as a table in every format, including models that fit nowhere and models that fit everywhere.
run() { tidemark fit "$@"; echo "exit $?"; }
run --find model --device virtual:rtx4060 --device virtual:t4-16 --mode forward,train
run --find layers --memory-limit 2GiB --recompute none,block --format markdown
run --memory-limit 2GiB --format latex
run --memory-limit 2GiB --mode forward --context 64,128 --format json
run --size 10B --find context --memory-limit 24GiB
run --find model --mode forward --precision bf16-true --device virtual:b200
run --find context --mode forward --precision bf16-true --device virtual:rtx4060 --d-model 2 --layers 1 --heads 1 --d-ff 1 --vocab 2 --batch 1
# The command refuses requests that make no sense.
run --find batch
run --batch 4 --memory-limit 1GiB
run --find context --context 4 --memory-limit 1GiB
run --find layers --layers 4 --memory-limit 1GiB
run --find model --size small --memory-limit 1GiB
run --find model --d-ff 4 --memory-limit 1GiB
run --multiple-of 0 --memory-limit 1GiB
run --device cpu
# unknown_value has the list of all cards.
run --device virtual:h100 2>&1 | sed 's/valid: .*; a virtual/valid: CARDS); a virtual/' >&2
run --heads 5 --memory-limit 1GiB
run --find width
