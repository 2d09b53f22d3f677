# The command checks recorded PyTorch results: it prints a row for each tensor, all rows pass, and it refuses files that
# it cannot compare.
cp "$golden/../reference/"*.safetensors .
tidemark check-reference edge_fp32.safetensors --format csv >all.csv
head -1 all.csv
sed 1d all.csv | cut -d, -f1,7 | grep -E '^(log|loss|[a-z]+/(tok|layers.1.(attn.q|ffn.w2|ln2)))'
tidemark check-reference tiny_fp32.safetensors --attention naive --recompute block --worst-first --format csv |
    sed 1d | grep -c ',yes$'
for file in tiny_bf16_mixed odd_bf16_mixed stored_mixed_flash stored_true_naive; do
    tidemark check-reference $file.safetensors --format csv | sed 1d | grep -c ',yes$'
done
tidemark check-reference odd_fp32.safetensors --precision bf16-true --format csv | sed 1d | grep -c ',yes$'
run() { tidemark check-reference "$@"; echo "exit $?" >&2; }
run tiny_bf16_mixed.safetensors --precision fp32
run tiny_fp32.safetensors --precision tf32
run tiny_bf16_mixed.safetensors --device virtual
head -c 5000 tiny_fp32.safetensors >truncated.safetensors
run truncated.safetensors
echo 'not a reference file' >foreign.safetensors
run foreign.safetensors
run missing.safetensors
run tiny_bf16_mixed.safetensors --attention slow
run
{ head -c -4 edge_fp32.safetensors && printf '\0\0\200\077'; } >wrong.safetensors # loss_after becomes 1
# The tolerance follows the loss that is computed, and its third digit the compiler's options.
run wrong.safetensors --attention naive --recompute none 2>&1 >/dev/null | sed -E 's/(allowed 1\.5)[0-9]e-05/\1?e-05/' >&2
