#!/usr/bin/env bash
# check_kernels.sh FILE...: every kernel says the largest block it is launched with (__launch_bounds__), so that its
# registers fit a block on every GPU. That they also suffice is ptxas' to say (--warn-on-spills), and that shared memory
# fits is asserted where it is asked for.
set -u
found=$(awk '
    FNR == 1 { kernel = "" }
    /__global__/ && !/^ *(\/\*|\*|\/\/|#)/ { kernel = FILENAME ":" FNR; text = "" }
    kernel != "" { text = text $0 }
    kernel != "" && /[{;]/ {
        n++
        if (text !~ /__launch_bounds__\(/) print kernel ": a kernel without __launch_bounds__"
        kernel = ""
    }
    END { if (n == 0) print "no kernel found" }' "$@")
[ -z "$found" ] || { echo "$found"; exit 1; }
