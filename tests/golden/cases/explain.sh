# The verdict of made training runs of PyTorch: healthy, with a leak, out of memory, in pieces, and without a history.
make() { python3 "$golden/snapshots/make_training.py" "$@" >training.pickle; }
explain() { echo "== $*"; make "$@"; tidemark explain training.pickle 2>progress; echo "exit $?"; }
explain
explain leak
explain leak python
explain leak annotated
explain oom
explain oom fragmented
explain bare leak
make leak
tidemark explain training.pickle --user-path /opt/venv/lib/python3.11/site-packages/torch/nn --format json | jq -r '.sentences.filled[]'
tidemark explain training.pickle --device 1; echo "exit $?"
tidemark explain missing.pickle; echo "exit $?"
tidemark explain; echo "exit $?"
