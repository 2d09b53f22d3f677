#!/usr/bin/env bash
# Replaces a PyTorch program on a virtual card where PyTorch is missing: it leaves the file that the package
# tidemark would leave (programs/launch/left/left.h), with peaks that follow from its arguments:
#     fake_training.sh [--batch N] [--ctx N] [--mib-per-token N] [--die MESSAGE] [--die-at BATCH] [--steps-taken N]
#                      [--launches FILE] [--mask-mib N]
# It takes 100 MiB, and ctx times batch times --mib-per-token MiB more. Beyond the limit of the card it is out of memory.
# Its figures show its settings: late streams take 1000 MiB more, zeros 3000, and real writes 4000; and a
# limit of calls takes 10000 MiB a call. FILE is its launch log. With --mask-mib it assumes half of the rows of a mask of
# 8 rows for each of the batch, which take N MiB each. The variable RANK is its rank.
set -eu
batch=1 ctx=1 per_token=1 die= die_at= launches= mask= steps=${TIDEMARK_STEPS:-0}
while [ $# -gt 0 ]; do
    case "$1" in
    --batch) batch=$2 ;;
    --ctx) ctx=$2 ;;
    --mib-per-token) per_token=$2 ;;
    --die) die=$2 ;;
    --die-at) die_at=$2 ;;
    --steps-taken) steps=$2 ;;
    --launches) launches=$2 ;;
    --mask-mib) mask=$2 ;;
    *) echo "fake_training: unknown argument $1" >&2; exit 2 ;;
    esac
    shift 2
done
echo "batch $batch" # its output is discarded
if [ -n "$die" ] || [ "$die_at" = "$batch" ]; then
    printf 'Traceback (most recent call last):\n  somewhere\n%s\n' "${die:-ValueError: batch $batch is odd}" >&2
    exit 1
fi
mib=$((1 << 20))
total=$((80995 * mib))
[ "${TIDEMARK_VIRTUAL_CARDS%%-*}" = a100 ] && total=$((40510 * mib))
limit=$((${TIDEMARK_VIRTUAL_MEMORY:-$total} - 666 * mib)) # less context and libraries
allocated=$((100 * mib + batch * ctx * per_token * mib))
[ "${TIDEMARK_STREAMS:-now}" = now ] || allocated=$((allocated + 1000 * mib))
case "${TIDEMARK_VALUES:-auto}" in auto) ;; zero) allocated=$((allocated + 3000 * mib)) ;; *) exit 2 ;; esac
[ -n "${TIDEMARK_SCRATCH:-}" ] || allocated=$((allocated + 4000 * mib))
allocated=$((allocated + ${TIDEMARK_CALLS:-0} * 10000 * mib))
reserved=$(((allocated / (20 * mib) + 1) * 20 * mib))
oom=false status=0
if [ $reserved -gt $limit ]; then
    oom=true status=1 reserved=$limit allocated=$((limit - mib))
    echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2
fi
[ -z "$launches" ] || cp "$launches" "$TIDEMARK_RUN_FOLDER/$$.launches"
[ -z "$mask" ] || printf 'loss.py:31\tmask\t%d\t%d\t%d\t%d\t%d\t%d\n' $((batch * 4)) $((batch * 4)) $((batch * 8)) 2 \
    $((mask * mib)) $((batch * 4 * mask * mib)) >"$TIDEMARK_RUN_FOLDER/$$.assumed"
cat > "$TIDEMARK_RUN_FOLDER/$$.json" <<END
{"rank": ${RANK:--1}, "n_steps": $steps, "n_calls": $steps, "host_peak_bytes": 1000, "is_out_of_memory": $oom,
 "ended_early": true, "torch": "0.0.0", "cuda": "0.0", "python": "0.0", "backend": "native", "exception": "",
 "command": [], "n_rows": [0], "marks": [], "names": [],
 "peaks": [{"allocated": $allocated, "reserved": $reserved, "retries": 0, "out_of_memory": 0}]}
END
exit $status
