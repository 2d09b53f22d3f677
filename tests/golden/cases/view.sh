# The report is one file that contains everything it needs.
tidemark profile --device virtual --layers 1 --precision fp32,bf16 --steps 1 --warmup 0 >/dev/null
rm report.html
tidemark view custom-train-c128-b4-fp32.json.gz custom-train-c128-b4-bf16-mixed.json.gz
tidemark view custom-train-c128-b4-fp32.json.gz
tidemark view custom-train-c128-b4-fp32.json.gz -o missing/report.html
echo "exit $?" >&2
ls
