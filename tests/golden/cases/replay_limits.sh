# The oom row of a run tells the memory it had. The command ranks the settings of each device separately, those that
# survive first, and names a sufficient limit when no setting helps.
replay() { tidemark replay "$golden/snapshots/three-devices.pickle" "$@" 2>&1 | sed "s|$golden|GOLDEN|"; }
replay --grid | grep -v '^$\|^  '
replay --grid --format csv 2>/dev/null | cut -d, -f1-5,11-12 | awk -F, '$2 <= 3 || $2 == "rank"'
# A limit on the command line applies to each device.
replay --grid --memory-limit 44MiB | grep -v '^$\|^  '
# The limits also apply to replays under other settings.
replay --alloc-conf expandable_segments:True | grep 'device\|peak reserved\|out of memory'
