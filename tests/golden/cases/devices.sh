# The case removes figures that differ between machines, and has a Python of its own.
mkdir -p venv/bin torch
printf '#!/bin/sh\nprintf "\\ntidemark:%%s\\ntidemark:%%s\\n" "$0" "$PWD/torch"\n' >venv/bin/python
chmod +x venv/bin/python
export VIRTUAL_ENV=$PWD/venv
tidemark devices >devices
echo "exit $?"
cut -c 1-22 devices | head -n 6
torch() {
    printf "__version__ = '%s'\ncuda = %s\nhip = None\n" "$1" "$2" >torch/version.py
    tidemark devices | grep '^  torch' | sed "s|$PWD|HERE|"
}
torch 2.14.1+cu130 "'13.0'"
torch 2.14.1+cpu None
torch 2.4.0+cu118 "'11.8'"
torch 2.15.0+cu130 "'13.0'"
rm -r torch
tidemark devices | grep '^  torch' | sed "s|$PWD|HERE|"
VIRTUAL_ENV=/nonexistent tidemark devices | grep '^  torch'
TIDEMARK_CPU_KERNELS=generic tidemark devices | grep -o 'computes .*'
TIDEMARK_CPU_KERNELS=neon1024 tidemark devices | sed -n 's/; .*//; /^  cpu /p' | sed -E 's/unset it for .*/unset it/'
TIDEMARK_LIBUNWIND=/nonexistent tidemark devices | grep 'call stacks' | sed -E 's/\(.*\)/(REASON)/'
