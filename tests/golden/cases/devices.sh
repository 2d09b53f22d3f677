# The case removes figures that differ between machines.
tidemark devices >devices
echo "exit $?"
cut -c 1-22 devices | head -n 6
# The widths of the columns depend on the cards.
sed -n '/h100-80/p' devices | tr -s ' '
TIDEMARK_CPU_KERNELS=generic tidemark devices | grep -o 'computes .*'
TIDEMARK_CPU_KERNELS=neon1024 tidemark devices | sed -n 's/; .*//; /^  cpu /p' | sed -E 's/unset it for .*/unset it/'
TIDEMARK_LIBUNWIND=/nonexistent tidemark devices | grep 'call stacks' | sed -E 's/\(.*\)/(REASON)/'
