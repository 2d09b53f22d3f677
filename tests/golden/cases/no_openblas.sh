# Without OpenBLAS the cpu device computes in plain C, and devices says so.
export TIDEMARK_OPENBLAS=none
tidemark profile --device cpu --layers 1 --d-model 32 --heads 2 --d-ff 64 --vocab 100 --context 8 --batch 1 --steps 1 \
    --warmup 0 -o run.json.gz >/dev/null
echo "exit $?"
tidemark devices | grep BLAS
# A file that is asked for by name must be there.
TIDEMARK_OPENBLAS=/nonexistent/libopenblas.so tidemark profile --device cpu --layers 1 --steps 1 --warmup 0 2>message
echo "exit $?"
sed -E 's/\(.*\)/(REASON)/' message >&2
