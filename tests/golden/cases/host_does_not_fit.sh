# A run that exceeds the host memory does not start: the message says what it needs, what is available and which
# command would answer the question.
tidemark profile --device cpu --size 10B --context 8192 --batch 512 --attention naive --steps 1 2>message
echo "exit $?"
sed -E 's/has [0-9.]+ [KMGT]iB free/has SIZE free/' message >&2
ls
tidemark study precision --device cpu --size 10B --context 8192 --batch 512 --precision fp32 | sed -E '$!d; s/has [0-9.]+ [KMGT]iB free/has SIZE free/'
