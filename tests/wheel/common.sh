# Shared by the checks of this folder, which source it. Each has $work, a folder of its own.
export LC_ALL=C
n_passed=0

fail() {
    printf 'wheel: %s\n' "$1" >&2
    exit 1
}

passed() {
    n_passed=$((n_passed + 1))
    printf 'wheel: %s\n' "$1"
}

skipped() { printf 'wheel: SKIPPED: %s\n' "$1"; }

has() { # FILE WORDS WHAT
    grep -q -- "$2" "$1" || fail "$3: $(tail -n 20 "$1")"
}

# Runs a command in an environment, as if nothing else were installed.
within() { # ENVIRONMENT COMMAND...
    env -i PATH="$1/bin:/usr/bin:/bin" HOME="$work" LC_ALL=C ${loader:+LD_DEBUG=$loader} "${@:2}"
}

# The objects need nothing but the C library, and what is in their own folder.
needs_only_glibc() { # FOLDER READELF
    local object name
    for object in "$1"/bin/tidemark "$1"/lib/tidemark/*.so* "$1"/lib/tidemark/nvidia-smi; do
        [ -e "$object" ] || continue
        for name in $("$2" -d "$object" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'); do
            case "$name" in
            libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | ld-linux-*) ;;
            *) [ -e "$1/lib/tidemark/$name" ] || fail "$object needs $name" ;;
            esac
        done
    done
}

# program.py without the package, which writes a file besides.
bare_program() {
    sed 's/^import tidemark//; s/^with .*//; s/^ .*step()$//; s/^print.*/print(n_bytes.value)\nopen("made.txt", "w").write("kept away")/' \
        "$here/program.py"
}
