# A cell that ran out of memory or failed has no forecast time, although its launches up to then are known. A script stands in
# for PyTorch: it leaves what the package tidemark would leave.
# Builds with a sanitizer and other systems than Linux on x86-64 have no objects to preload.
folder=$(dirname "$(readlink "$(command -v tidemark)")")/..
[ -e "$folder/programs/libtidemark_scratch.so" ] || exit 77
cat >program.sh <<'END'
#!/bin/sh
out_of_memory=false
[ "$1" != 16 ] || out_of_memory=true
printf '{"rank": -1, "n_steps": 3, "n_calls": 3, "host_peak_bytes": 1000, "is_out_of_memory": %s, "ended_early": false,
"torch": "0.0.0", "cuda": "0.0", "python": "0.0", "backend": "native", "exception": "", "command": [], "n_rows": [1],
"marks": [], "names": [], "peaks": [{"allocated": 1000000, "reserved": 2000000, "retries": 0, "out_of_memory": 0}]}' \
    $out_of_memory >"$TIDEMARK_RUN_FOLDER/11.json"
python3 "$2" "$TIDEMARK_RUN_FOLDER/11.launches"
case $1 in 16 | 24) echo "no batch $1" >&2; exit 1 ;; esac
END
chmod +x program.sh
tidemark sweep --device virtual:h100-80 --set batch=8,16,24 --time --format csv -- ./program.sh {batch} "$golden/launches/make_launches.py" >table.csv 2>/dev/null
"$golden/csv_columns" table.csv batch,outcome,forecast_step_ms,forecast_step_low_ms,forecast_step_high_ms
