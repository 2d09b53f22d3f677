# For every kept file and at several instants of each device, the account, causes, segments and tree add up.
for file in "$golden"/snapshots/*.json.gz; do
    for device in $(gunzip -c "$file" | jq '.devices | keys[]'); do
        for instant in start 7 peak end; do
            tidemark summary "$file" --device "$device" --at "$instant" --top 2 --tree category,scope,name,stack --fragmentation \
                --format json | jq -c --arg file "${file##*/} $device $instant" '
                def table($prefix): [.tables[] | select(.title | startswith($prefix))][0].rows;
                (table("Where") | map({(.line): .bytes}) | add) as $account |
                [.tables[] | select(.title | contains(" > "))][0].rows as $tree |
                [$file, $account.reserved,
                 ([$account | to_entries[] | select(.key != "reserved") | .value] | add) == $account.reserved,
                 ([.tables[] | select(.title | test("^Cached bytes (at|before).*by cause$")) | .rows[] | select(.cause != "all") | .bytes // 0] | add // 0) ==
                     $account["cached, splittable"] + $account["cached, releasable"],
                 ([table("Cached bytes that")[].bytes] | add // 0) == $account["cached, splittable"],
                 ([$tree[] | select(.level == 0) | .bytes] | add // 0) ==
                     $account.requested + $account.rounding + $account["unsplit tails"],
                 ([$tree[] | . as $node | [$tree[] | select(.parent == $node.row) | .bytes] |
                     select(length > 0) | add == $node.bytes] | all)]'
        done
    done
done
