# Without a usable GPU, --device cuda says why it fails and what would work. Other tests cover builds with a GPU.
if tidemark profile --device cuda --layers 1 --steps 1 --warmup 0 >/dev/null 2>message; then
    echo "this machine has a cuda device" >&2
    exit 77
fi
echo "exit $?"
sed -E 's/^(tidemark profile: --device cuda:) .*(use cpu, or virtual:CARD.*)/\1 REASON: \2/' message >&2
ls
