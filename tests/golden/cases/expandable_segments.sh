# A run that runs out of memory with fixed segments fits with expandable segments, and the file records the setting.
tiny="--device virtual --size small --steps 1 --warmup 0"
tidemark profile $tiny --memory-limit 2012MiB -o bought.json.gz >bought.txt 2>&1
echo "bought: exit $?"
tidemark profile $tiny --memory-limit 2012MiB --alloc-conf expandable_segments:True -o mapped.json.gz >mapped.txt 2>&1
echo "mapped: exit $?"
sed -n 2p mapped.txt
tidemark summary mapped.json.gz | sed -n 2,4p
tidemark dump mapped.json.gz | grep -oE '\<segment_[a-z]+' | sort | uniq -c
gzip -dc mapped.json.gz | grep -oE '"(expandable_segments|is_expandable)":[a-z0-9]+' | sort | uniq -c
