# function_lengths.awk - names every function that is longer than LIMIT lines: awk -v limit=60 -f THIS FILE...
#
# It reads formatted C and CUDA, where everything at file level begins in the first column and the brace that ends a
# function stands there alone. A function counts from the first line of its signature, behind `template <...>`, to that
# brace.
# Prints FILE:LINE: LENGTH lines.

FNR == 1 {
    state = "between"
    in_macro = 0
}

# The lines of a macro do not count as code. A backslash continues the macro on the next line.
in_macro || /^[ \t]*#/ {
    in_macro = /\\$/
    next
}

state == "inside" && /^}/ {
    if (/\{$/) { # "} rows[] = {" ends a type and opens its table
        kind = "table"
        next
    }
    if (kind == "function" && FNR - first + 1 > limit) {
        printf "%s:%d: %d lines\n", FILENAME, first, FNR - first + 1
    }
    state = "between"
    next
}

state == "between" && /^[A-Za-z_]/ {
    first = FNR
    signature = ""
    state = "signature"
}

state == "signature" {
    signature = signature $0
    if (/\{$/) {
        # Types, tables and blocks of declarations have a brace too, but only a function has parameters before it.
        is_table = signature ~ /[^=]=[ ]*[{]$/ || signature ~ /^(typedef|namespace|extern "C"|enum)/
        if (signature ~ /^(namespace [a-z_:]*|namespace|extern "C") [{]$/) {
            state = "between" # what stands inside begins in the first column again
        } else {
            kind = !is_table && signature ~ /\(/ ? "function" : "table"
            state = "inside"
        }
    } else if (/[;}]$/ || /\*\/$/ || signature ~ /^template <.*>$/) {
        state = "between"
    }
}
