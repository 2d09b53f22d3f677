# Says why and what would work. Where there is a GPU and a build for it, this is another test's business.
if tidemark profile --device cuda --layers 1 --steps 1 --warmup 0 >/dev/null 2>message; then
    echo "this machine has a cuda device" >&2
    exit 77
fi
echo "exit $?"
sed -E 's/^(tidemark profile: --device cuda:) .*(use cpu, or virtual:CARD.*)/\1 REASON: \2/' message >&2
ls
