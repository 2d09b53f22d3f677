# Recorded PyTorch results: accepted where they agree, refused by name where they cannot be read.
file=$golden/../reference/tiny_fp32.safetensors
tidemark check-reference "$file" --format csv >table
echo "exit $?"
echo "$(grep -c ',yes$' table) rows within their tolerance, $(grep -c ',no$' table) beyond"
run() { tidemark check-reference "$@" >/dev/null; echo "exit $?" >&2; }
head -c 1000 "$file" >truncated.safetensors
echo "not a safetensors file" >foreign.safetensors
run truncated.safetensors
run foreign.safetensors
run missing.safetensors
run
