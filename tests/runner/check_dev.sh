#!/usr/bin/env bash
# Each command of ./dev that builds names the packages that are missing before it does anything: check_dev.sh ROOT WORK.
# PATH contains only what ./dev itself calls, and no apt-get, which would install them.
set -u
root=$1
work=$2
rm -rf "$work"
mkdir -p "$work/bin"
for tool in bash dirname tr sort cat id mkdir; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
done
cp "$root/dev" "$work/dev"
failures=0
fail() {
    printf 'dev: %s\n' "$1" >&2
    failures=$((failures + 1))
}
expect() { # PACKAGE COMMAND...: the command ends with a message that names the package
    local package=$1 command
    shift
    for command in "$@"; do
        if PATH=$work/bin "$BASH" "$work/dev" $command >"$work/out" 2>&1; then
            fail "$command succeeds without $package"
        elif ! grep -q "^missing packages:.* $package " "$work/out"; then
            fail "$command does not name $package: $(cat "$work/out")"
        fi
    done
}
expect cmake setup check lint clang demo bench 'bench cpu' test long slow asan tsan release cuda golden pytorch programs published grids site fuzz wheel
expect jq setup check lint clang bench test long slow asan tsan release cuda golden pytorch programs published grids site
expect clang-tidy setup check lint clang
expect clang fuzz
expect python3-venv wheel
# Every command of the help is known here, or needs no package.
for command in $("$BASH" "$work/dev" help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort -u); do
    case " setup check lint clang demo bench test long slow asan tsan release cuda golden pytorch programs published grids site fuzz wheel gpu carry format help " in
    *" $command "*) ;;
    *) fail "the packages that $command needs are unknown: add it to install_needs in ./dev" ;;
    esac
done
[ "$failures" -eq 0 ]
