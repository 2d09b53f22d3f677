# Options of a run that is watched, where they make no sense. No program is started.
run() { tidemark run --device virtual:h100-80 "$@" -- true; echo "exit $?" >&2; }
run --signal KILL
run --signal USR1 --method history
run --on-oom --method history
run --apply fused --method history
# Programs that are not there, no program, a GPU by its number, and a card without the word virtual.
tidemark run --device virtual:h100-80 no-such-program train.py
echo "exit $?" >&2
tidemark run --device virtual:h100-80 train.py
echo "exit $?" >&2
tidemark run --device virtual:h100-80
echo "exit $?" >&2
tidemark run --device cuda:1 true
echo "exit $?" >&2
tidemark run --device rtx4060 -- true
echo "exit $?" >&2
ls
