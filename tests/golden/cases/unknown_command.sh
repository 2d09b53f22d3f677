run() { tidemark "$@"; echo "exit $?" >&2; }
run
run profil
run frobnicate
