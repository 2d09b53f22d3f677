# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_live.so" ] || exit 77
# The paths of this build differ from machine to machine.
run() { "$@" | sed "s|'/[^']*/\(libtidemark_live.so\)'|'.../\1'|; s|^\(.*TIDEMARK_PROGRAM=\).*|\1...|; s|^\(.*TIDEMARK_PYTHON=\).*|\1...|; s|$PWD|HERE|; s|=/.*/libtidemark_live.so|=.../libtidemark_live.so|"; }
run tidemark env --on-oom oom
run tidemark env --on-oom "it's" --keep 90s --log-bytes 16MiB --ring rings --stacks none
run tidemark env --on-oom absent/oom --format env --keep 2h
ls -d absent 2>&1
# What LD_PRELOAD has stays.
(LD_PRELOAD= && eval "$(tidemark env --on-oom oom)" && echo "${LD_PRELOAD##*/}")
tidemark env
echo "exit $?"
tidemark env --on-oom oom --keep 10
tidemark env --on-oom oom --keep 0s
tidemark env --on-oom oom --log-bytes 1KiB
touch file
tidemark env --on-oom file
echo "exit $?"
tidemark recover oom
tidemark ranks oom
echo "exit $?"
echo "within a run whose writes are kept away, one folder a line:"
TIDEMARK_SCRATCH=$PWD/view TIDEMARK_SCRATCH_OWN=$PWD/own tidemark env --on-oom box | sed -n "/SCRATCH_OWN/,/KEEP/p" | sed "s|$PWD|HERE|"
tidemark env --on-oom box --frames 16 | sed -n "/FRAMES/p"
echo "the last one counts:"
(LD_PRELOAD= && eval "$(tidemark env --on-oom box --frames 16)" && eval "$(tidemark env --on-oom box)" && echo "frames: '$TIDEMARK_LIVE_FRAMES'")
echo "the memory of another machine is no failure:"
mkdir links && ln -s /nowhere/r.ring links/other-machine-rank0-7.ring
tidemark recover links
echo "exit $?"
