# nvidia-smi of a run on virtual cards, and of nothing else. Builds with a sanitizer and other systems than Linux on x86-64
# have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
cat >queries.sh <<'END'
ask() {
    nvidia-smi "$@"
    echo "status $?"
}
nvidia-smi | tail -n +2
ask -L
ask --query-gpu=index,name,uuid,memory.total,memory.used,memory.free,utilization.gpu,temperature.gpu,compute_cap --format=csv
ask --query-gpu='count, memory.total' --format=csv,noheader,nounits -i 1
ask --query-gpu memory.total --format csv,nounits --id=0,1
ask --query-compute-apps=pid,used_memory --format=csv
ask --query-gpu=index,memory.heat --format=csv
ask --query-gpu=name
ask -i 7
ask -q
ask --version
python3 -c 'import shutil, subprocess; print(shutil.which("nvidia-smi") is not None)
print(subprocess.run(["nvidia-smi", "--query-gpu=pci.bus_id", "--format=csv,noheader"], capture_output=True, text=True).stdout, end="")'
END
run() { tidemark run --device virtual:h100-80+rtx4090 "$@" 2>/dev/null; }
run --memory-limit 20GiB -- sh queries.sh
run -- nvidia-smi -L
env -u PATH "$(command -v tidemark)" run --device virtual:h100-80 -- /bin/sh -c 'nvidia-smi -L; ls /bin/sh' 2>/dev/null
tidemark run -- sh -c 'case $PATH in *tidemark-run*) echo "on the PATH without a virtual card" ;; esac' 2>/dev/null
