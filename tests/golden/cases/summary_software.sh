# The versions of what ran, and what of a simulated device is not exact. The rows are invented.
tidemark profile --device virtual --layers 1 --warmup 0 --steps 1 -o run.json.gz >/dev/null
gzip -dc run.json.gz | jq -c '.software = {python: "3.11.7", torch: "2.14.1+cu130", cuda: ""}
    | .inexact = [{call: "cufftMakePlanMany", what: "the size of its work area is not known; 0 is given", bound_bytes: 67108864,
        refused: false}, {call: "ncclCommInitRank", what: "it is not simulated", bound_bytes: -1, refused: true}]' >made.json
tidemark summary made.json | grep '^software'
tidemark summary made.json | sed -n '/^What is not exact/,/^$/p'
tidemark summary made.json --format markdown --table inexact
tidemark summary made.json --format json | jq -c '.sentences.software, .tables.inexact.rows'
