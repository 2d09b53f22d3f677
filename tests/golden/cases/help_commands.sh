# Each command has a --help that starts with its usage.
tidemark --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' | while read -r command; do
    tidemark "$command" --help >help || echo "$command: exit status $?"
    head -n 1 help
done
