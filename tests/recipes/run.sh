#!/usr/bin/env bash
# Runs a recipe of docs/recipes with its real engine, some of whose workers are killed, and compares the rows with those
# of a sweep in one process:
#     run.sh TIDEMARK gnu-parallel|slurm-array|on_ray|on_dask [KILL]
# KILL 0 kills nothing. Ray and Dask are those of the environment of ./dev grids, $TIDEMARK_GRIDS. An engine that is absent
# skips the test.
set -eu
program=$(realpath "$1")
recipe=$2
here=$(cd "$(dirname "$0")" && pwd)
recipes=$here/../../docs/recipes
python=${TIDEMARK_GRIDS:-}/bin/python # ./dev grids prints where it is; they take half a minute
skip() {
    echo "skipped: $1" >&2
    exit 77
}
# The worker that is killed: the engine's, or tidemark's process if the engine has none.
worker=own
case $recipe in
gnu-parallel) command -v parallel >/dev/null || skip "GNU parallel is absent: apt install parallel" ;;
on_ray | on_dask)
    "$python" -c "import ${recipe#on_}" 2>/dev/null || skip "${recipe#on_} needs ./dev grids, which installs it"
    worker=parent
    ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir bin killed
# Instead of tidemark: every fifth cell, and every part of the array, loses its worker at the first try, after the cell
# has begun.
cat >bin/tidemark <<END
#!/usr/bin/env bash
cell=
for argument in "\$@"; do
    case \$previous in --cell | --shard) cell=\${argument%%/*} ;; esac
    previous=\$argument
done
if [ -n "\$cell" ] && [ $((${3:-1})) = 1 ] && { [ $recipe = slurm-array ] || [ \$((cell % 5)) = 3 ]; } &&
    mkdir "$scratch/killed/\$cell" 2>/dev/null; then
    "$program" "\$@" >/dev/null 2>&1 &
    sleep 0.0\$cell
    kill -9 \$!
    [ $worker = own ] || kill -9 \$PPID
    kill -9 \$\$
fi
exec "$program" "\$@"
END
sed -i '2i previous=' bin/tidemark
chmod +x bin/tidemark
export PATH=$scratch/bin:$PATH LC_ALL=C
grid=(--device virtual:h100-80 --size small,medium --mode forward,train --context 128,256,512 --batch 1,2 --warmup 0 --steps 2)

"$program" sweep "${grid[@]}" --format csv >one 2>/dev/null
case $recipe in
gnu-parallel) "$recipes/gnu-parallel.sh" rows "${grid[@]}" >log 2>&1 || { cat log; exit 1; } ;;
slurm-array)
    export SLURM_ARRAY_TASK_COUNT=3
    for try in 1 2; do
        for SLURM_ARRAY_TASK_ID in 1 2 3; do
            export SLURM_ARRAY_TASK_ID
            bash "$recipes/slurm-array.sh" rows "${grid[@]}" >/dev/null 2>>log || [ "$try" = 1 ] || { cat log; exit 1; }
        done
    done
    ;;
*) "$python" -B "$recipes/$recipe.py" rows "${grid[@]}" >log 2>&1 || { cat log; exit 1; } ;;
esac
tidemark sweep --merge rows --format csv >all 2>>log || { cat log; exit 1; }
n_killed=$(ls killed | wc -l)
for table in one all; do
    "$here/../golden/csv_columns" $table -host_peak_bytes,environment >$table.rows
done
cmp one.rows all.rows
[ "$n_killed" -gt 0 ] || [ "${3:-1}" = 0 ] || { echo "no worker was killed"; exit 1; }
echo "$recipe: $(($(wc -l <all.rows) - 1)) rows as in one process; $n_killed workers were killed"
