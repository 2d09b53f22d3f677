# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
# Trackers that do not exist, and a program without a snapshot: its status stays.
tidemark run --device virtual:h100-80 --log-to wandb,comet -- true
echo "status $?"
tidemark run --device virtual:h100-80 --log-to mlflow -- sh -c 'exit 4' 2>&1 | grep log-to
tidemark run --device virtual:h100-80 --log-to tensorboard -- sh -c 'exit 4' 2>/dev/null
echo "status $?"
