# One function of each kind, in each format.
tidemark devices --simulated --wide >functions
echo "exit $?"
head -n 5 functions | tr -s ' '
pattern='cudaMalloc|cudaProfilerStart|cuGreenCtxCreate|cusolverDnSgetrf_bufferSize|ncclPutSignal|nvrtcVersion'
grep -wE "$pattern" functions | tr -s ' '
tidemark devices --simulated --format csv 2>sentence | sed -n 1p
sed -E 's/[0-9]+/N/g' sentence
tidemark devices --simulated --format csv 2>/dev/null | grep -wE "$pattern"
tidemark devices --simulated --format markdown | grep -w cuGreenCtxCreate
tidemark devices --simulated --format json | tr -d '\n ' | grep -o '"error":"ncclInvalidUsage"' | sort -u
tidemark devices --simulate
echo "exit $?"
