# Words at the prompt: help and version, and the program of `run`, with or without -- before it. Everything that follows
# the program's name is the program's.
tidemark help | cmp - <(tidemark --help)
tidemark help run | cmp - <(tidemark run --help)
tidemark version | cmp - <(tidemark --version)
tidemark help runs 2>&1 | cut -c 1-60
# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
card="--device virtual:t4 --memory-limit 8GB"
tidemark run $card echo --help --device x -- y 2>/dev/null
tidemark run $card -- echo --help -- y 2>/dev/null
tidemark run --device=virtual:t4 --steps 3 --time echo -h 2>/dev/null
# A Python file that cannot start itself is run by the python of PATH; one that can starts itself.
mkdir bin
printf '#!/bin/sh\necho "the python of PATH:" "$@"\n' >bin/python
printf '#!/bin/sh\necho "itself:" "$@"\n' >own.py
touch train.py
chmod +x bin/python own.py
PATH=$PWD/bin:$PATH
tidemark run $card train.py --help 2>/dev/null
tidemark run $card -- ./train.py x 2>/dev/null
tidemark run $card own.py 2>/dev/null
tidemark run $card ./own.py x 2>/dev/null
# fit and sweep take a command only where it is one.
tidemark fit small 2>&1
tidemark sweep a.jsonl 2>&1
tidemark fit --device virtual:t4 --vary batch=1..4 echo {size} 2>&1
tidemark fit --device virtual:t4 --vary batch=1..4 train.py {size} 2>&1
tidemark sweep --device virtual:t4 --set batch=1,2 echo {size} 2>&1
