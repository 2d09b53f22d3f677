#!/usr/bin/env bash
# check_kernels.sh FILE...: every kernel declares the largest block it is launched with (__launch_bounds__), so that
# its registers fit a block on every GPU. ptxas warns if they do not suffice (--warn-on-spills), and the request for
# shared memory asserts that it fits. Every kernel has a name of its own, tide_..._kernel: tables of kernels show only
# the name, and it distinguishes our kernels from libraries' in sanitizer reports.
set -u
found=$(awk '
    FNR == 1 { kernel = "" }
    /__global__/ && !/^ *(\/\*|\*|\/\/|#)/ { kernel = FILENAME ":" FNR; text = "" }
    kernel != "" { text = text " " $0 }
    kernel != "" && /[{;]/ {
        n++
        if (text !~ /__launch_bounds__\(/) print kernel ": a kernel without __launch_bounds__"
        gsub(/__launch_bounds__\([^()]*\)/, "", text)
        sub(/.*__global__ +void +/, "", text)
        sub(/\(.*/, "", text)
        gsub(/ /, "", text)
        if (text !~ /^tide_[a-z0-9_]+_kernel$/) print kernel ": " text " is not named tide_..._kernel"
        else if (text in at) print kernel ": " text " is the name of another kernel: " at[text]
        at[text] = kernel
        kernel = ""
    }
    END { if (n == 0) print "no kernel found" }' "$@")
[ -z "$found" ] || { echo "$found"; exit 1; }
