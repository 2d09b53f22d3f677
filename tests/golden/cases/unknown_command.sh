run() { tidemark "$@"; echo "exit $?" >&2; }
run
run profil
run frobnicate
for command in sweep study fit replay export bench recover; do
    run "$command"
done
