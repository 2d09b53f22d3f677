run() { tidemark "$@"; echo "exit $?" >&2; }
run
run profil
run frobnicate
for command in sweep study; do
    run "$command"
done
