# Reports C files with more than one variable at file level that can change, or more than one of a thread:
# awk -f file_state.awk FILE...
#
# A declaration begins with "static" in the first column and ends with the line that closes its braces with a semicolon,
# as clang-format writes it. A function's first line has a parenthesis before any "=" or "{". A pointer to constant
# data can change, so only "const" beside the name makes it constant: "static const T name", unless a * follows, or
# "* const name".

FNR == 1 {
    n_of["process"] = n_of["thread"] = 0
    name = ""
}

# Whether the first line of a declaration is of a variable that can change.
function can_change(line) {
    sub(/[={].*/, "", line)
    if (line ~ /\*[[:space:]]*const[[:space:]]/) {
        return 0
    }
    return line !~ /[[:space:]]const[[:space:]]/ || line ~ /\*/
}

function count(line, kind, of, n_names) {
    kind = line ~ /_Thread_local/ ? "thread" : "process"
    of = line
    sub(/[={;].*/, "", of)
    n_names = gsub(/,/, ",", of) + 1
    if (n_of[kind] < 2 && n_of[kind] + n_names >= 2) {
        printf "%s:%d: a second variable of the %s; its state is one struct, whose members say what guards them\n",
            FILENAME, FNR, kind
    }
    n_of[kind] += n_names
}

/^(static|_Thread_local) / {
    first = $0
    sub(/[={].*/, "", first)
    if (first ~ /\(/ || $0 ~ /^static[^={;]*$/ && $0 !~ /\[/) {
        next # a function; its first line may end before the parenthesis
    }
    if (can_change($0)) {
        count($0)
    }
}
