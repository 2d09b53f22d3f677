# The clock that a program sees: what it needs. No program is started.
run() { tidemark run "$@" 2>&1 | sed 's/^tidemark run: //'; }
run --clock virtual -- true
run --clock forecast --device virtual:h100-80 -- true
run --clock virtual --device virtual:rtxpro6000 -- true
run --clock virtual --device virtual:h100-80+a100-40 -- true
run --clock virtual --device virtual:h100-80 --host-factor 0 -- true
run --device virtual:h100-80 --host-factor 2 -- true
run --device virtual:h100-80 --host gpu-box.json -- true
tidemark run --help | grep -A 2 -e --clock
