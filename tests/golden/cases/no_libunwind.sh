# The run goes on without call stacks and says so once.
export TIDEMARK_LIBUNWIND=/nonexistent/libunwind.so
tidemark profile --device virtual --layers 1 --precision fp32,bf16 --steps 1 --warmup 0 2>messages >/dev/null
echo "exit $?"
sed -E 's/\(.*\)/(REASON)/' messages >&2
gunzip -c custom-train-c128-b4-fp32.json.gz | jq -c '[(.events.action | length > 0), (.events.stack | unique), (.stacks.frame | length)]'
