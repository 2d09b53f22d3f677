# Every command keeps a category that the program does not know. Here the file calls it "rope table".
tidemark profile --device virtual --layers 1 --d-model 256 --heads 4 --d-ff 512 --vocab 500 --context 256 --batch 4 --steps 1 \
    --warmup 0 --precision bf16-mixed --memory-limit 1GiB -o a.json.gz >/dev/null
gzip -dc a.json.gz | sed 's/"weight_copy"/"rope table"/g' | gzip >b.json.gz
tidemark summary b.json.gz | grep 'rope table' | head -n 2
tidemark compare a.json.gz b.json.gz | sed -n "/^Alive at the peak, by category/,/^$/p"
tidemark compare a.json.gz b.json.gz --top 2 --format csv --table footprint | grep -c 'rope table'
tidemark dump b.json.gz | cut -f 8 | sort | uniq -c
tidemark export b.json.gz --to csv | grep -c "rope table,"
tidemark export b.json.gz --to pytorch -o c.pickle
tidemark summary c.pickle | grep 'rope table' | head -n 1
tidemark replay b.json.gz -o d.json.gz >/dev/null
tidemark summary d.json.gz | grep 'rope table' | head -n 1
tidemark replay b.json.gz --memory-limit 10MiB | grep -o 'runs out of memory' | head -n 1
gzip -dc d.json.gz | jq -c '.categories, .summary[0].peak.by_category["rope table"]'
