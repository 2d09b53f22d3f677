# What differs from machine to machine is left out.
tidemark devices >devices
echo "exit $?"
cut -c 1-22 devices | head -n 7
sed -n '/h100-80/p' devices
TIDEMARK_LIBUNWIND=/nonexistent tidemark devices | grep 'call stacks' | sed -E 's/\(.*\)/(REASON)/'
