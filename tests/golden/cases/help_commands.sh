# Each command has a --help that starts with its usage.
tidemark --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' | while read -r command; do
    tidemark "$command" --help >help || echo "$command: exit status $?"
    head -n 1 help
done
# Every command that describes a run documents the dimensions of the model in the same words.
rows() { tidemark "$1" --help | sed -n '/^  --d-model/,/rope_theta/p'; }
rows profile >dimensions
grep -o '^  --[a-z-]*' dimensions
for command in sweep study fit forecast; do
    rows "$command" | cmp - dimensions && echo "$command: the same"
done
