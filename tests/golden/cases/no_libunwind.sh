# Without libunwind the run continues with short stacks or none, and it warns once.
export TIDEMARK_LIBUNWIND=/nonexistent/libunwind.so
run() {
    tidemark profile --device virtual --layers 1 --precision fp32,bf16 --steps 1 --warmup 0 2>messages >/dev/null
    echo "exit $?"
    sed -E 's/\(.*\)/(REASON)/' messages >&2
}
run
gunzip -c custom-train-c128-b4-fp32.json.gz | jq -c '[(.events.action | length > 0), (.events.stack | min >= 0), (.frames.function | length > 0)]'
export TIDEMARK_UNWINDER=libunwind
run
gunzip -c custom-train-c128-b4-fp32.json.gz | jq -c '[(.events.action | length > 0), (.events.stack | unique), (.stacks.frame | length)]'
TIDEMARK_UNWINDER=frames run
# A libunwind that is not named and cannot be opened: glibc takes its place, but not where libunwind itself is wanted.
unset TIDEMARK_LIBUNWIND TIDEMARK_UNWINDER
mkdir damaged && : >damaged/libunwind.so.8
export LD_LIBRARY_PATH=$PWD/damaged
run
gunzip -c custom-train-c128-b4-fp32.json.gz | jq -c '[(.events.action | length > 0), (.events.stack | min >= 0), (.frames.function | length > 0)]'
TIDEMARK_UNWINDER=check run
