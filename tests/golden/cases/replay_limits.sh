# What a run had is told by its row of out of memory; each device is ranked by itself, what survives first; where nothing helps, the limit that would.
replay() { tidemark replay "$golden/snapshots/three-devices.pickle" "$@" 2>&1 | sed "s|$golden|GOLDEN|"; }
replay --grid | grep -v '^$\|^  '
replay --grid --format csv 2>/dev/null | cut -d, -f1-5,11-12 | awk -F, '$2 <= 3 || $2 == "rank"'
# A limit that is given counts, on each device.
replay --grid --memory-limit 44MiB | grep -v '^$\|^  '
# The limits hold for other settings, too.
replay --alloc-conf expandable_segments:True | grep 'device\|peak reserved\|out of memory'
