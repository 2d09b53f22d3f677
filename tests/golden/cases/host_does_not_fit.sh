# A run that no host can hold is not started: what it needs, what there is, and what would answer.
tidemark profile --device cpu --size 10B --context 8192 --batch 512 --attention naive --steps 1 2>message
echo "exit $?"
sed -E 's/has [0-9.]+ [KMGT]iB free/has SIZE free/' message >&2
ls
tidemark study precision --device cpu --size 10B --context 8192 --batch 512 --precision fp32 | sed -E '$!d; s/has [0-9.]+ [KMGT]iB free/has SIZE free/'
