#!/usr/bin/env bash
# One step of the install test: run.sh STEP WORK. The steps share the folder WORK: WORK/moved is the installed tree,
# WORK/foreign the build of a project that knows only that tree.
set -eu
step=$1
work=$2
here=$(cd "$(dirname "$0")" && pwd)
prefix=$work/moved
export LC_ALL=C

fail() {
    printf 'install: %s\n' "$1" >&2
    exit 1
}

# The installed program must be able to read what the example writes.
summarise() { # EXAMPLE SNAPSHOT
    "$1" "$2" | grep -q '^peak 25165824 bytes allocated' || fail "$1 did not reach its peak of 24 MiB"
    "$prefix/bin/tidemark" summary "$2" >"$2.txt" || fail "the installed tidemark cannot read $2"
    for word in weights layer.output parameter activation; do
        grep -q "$word" "$2.txt" || fail "the summary does not name $word: $(cat "$2.txt")"
    done
}

case "$step" in
tree)
    rm -rf "$work"
    mkdir -p "$work"
    "$TIDE_CMAKE" --install "$TIDE_BUILD" --prefix "$work/prefix" >/dev/null
    mv "$work/prefix" "$prefix" # nothing may depend on the original place
    for file in bin/tidemark share/tidemark/viewer.html include/tidemark/tidemark.h \
        include/tidemark/allocator/cache.h "$TIDE_LIBDIR/libtidemark.a" "$TIDE_LIBDIR/pkgconfig/tidemark.pc" \
        "$TIDE_LIBDIR/cmake/tidemark/tidemarkConfig.cmake" "$TIDE_DOCDIR/LICENSE" \
        "$TIDE_DOCDIR/docs/guide/using-the-library.md" "$TIDE_DOCDIR/docs/examples/own_buffers.c"; do
        [ -s "$prefix/$file" ] || fail "$file was not installed"
    done
    # The headers of the list and no other file.
    found=$(diff <(grep -v '^#' "$here/../../cmake/public_headers.txt" | sort) \
        <(cd "$prefix/include/tidemark" && find . -type f -printf '%P\n' | sort)) ||
        fail "the installed headers are not those of cmake/public_headers.txt: $found"
    # The package for the program's interpreter, whole.
    found=$(cd "$here/../.." && git ls-files python/tidemark | while read -r file; do
        [ -s "$prefix/share/tidemark/$file" ] || echo "$file"
    done)
    [ -z "$found" ] || fail "these files were not installed: $found"
    # The tree can be moved to another machine.
    for place in "$TIDE_BUILD" "$work" "$here" /usr /opt /home; do
        ! grep -n -F -- "$place" "$prefix/$TIDE_LIBDIR/pkgconfig/tidemark.pc" || fail "tidemark.pc names a folder of this machine"
    done
    "$prefix/bin/tidemark" --version >/dev/null || fail "the installed program does not run"
    ;;
foreign)
    "$TIDE_CMAKE" -S "$here/foreign" -B "$work/foreign" -DCMAKE_PREFIX_PATH="$prefix" \
        -DEXAMPLE="$prefix/$TIDE_DOCDIR/docs/examples/own_buffers.c" >"$work/configure.log" 2>&1 ||
        fail "the foreign project does not configure: $(tail -n 20 "$work/configure.log")"
    "$TIDE_CMAKE" --build "$work/foreign" -j 2 >"$work/build.log" 2>&1 ||
        fail "the foreign project does not build: $(tail -n 40 "$work/build.log")"
    ;;
missing)
    # If an archive that the library was built against is missing, the package names it and says what to do.
    rm -rf "$work/lacking"
    cp -r "$prefix" "$work/lacking"
    for what in backtrace cudart; do
        config=$work/lacking/$TIDE_LIBDIR/cmake/tidemark/tidemarkConfig.cmake
        sed "s|^set(tidemark_$what .*|set(tidemark_$what \"/nowhere/lib$what.a\")|" \
            "$prefix/$TIDE_LIBDIR/cmake/tidemark/tidemarkConfig.cmake" >"$config"
        if "$TIDE_CMAKE" -S "$here/foreign" -B "$work/lacking/build" -DCMAKE_PREFIX_PATH="$work/lacking" \
            -DEXAMPLE="$prefix/$TIDE_DOCDIR/docs/examples/own_buffers.c" >"$work/lacking.log" 2>&1; then
            fail "the foreign project configures without lib$what.a"
        fi
        tr -s ' \n' ' ' <"$work/lacking.log" | grep -q "/nowhere/lib$what.a, .* is not here: install that" ||
            fail "the message does not say what is missing: $(cat "$work/lacking.log")"
    done
    ;;
example)
    summarise "$work/foreign/own_buffers" "$work/foreign.json.gz"
    ;;
pkg_config)
    command -v pkg-config >/dev/null || exit 77
    export PKG_CONFIG_PATH="$prefix/$TIDE_LIBDIR/pkgconfig"
    read -r -a flags <<<"$(pkg-config --static --cflags --libs tidemark)"
    "$CC" -std=c11 -o "$work/by_pkg_config" "$prefix/$TIDE_DOCDIR/docs/examples/own_buffers.c" "${flags[@]}"
    summarise "$work/by_pkg_config" "$work/by_pkg_config.json.gz"
    "$CXX" -std=c++17 -o "$work/unwinding_by_pkg_config" "$here/foreign/unwinding.cpp" "${flags[@]}"
    "$work/unwinding_by_pkg_config"
    ;;
included)
    # <tidemark/tidemark.h> and <tidemark.h>, by the flags of pkg-config and without them, in C and C++.
    export PKG_CONFIG_PATH="$prefix/$TIDE_LIBDIR/pkgconfig"
    for header in tidemark/tidemark.h tidemark/snapshot/analysis/summary.h tidemark.h allocator/cache.h; do
        printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' $header $header >"$work/included.c"
        flags="-I$prefix/include"
        [[ $header == tidemark/* ]] || flags+=" -I$prefix/include/tidemark"
        for flags in "$flags" "$(pkg-config --cflags tidemark 2>/dev/null || echo "$flags")"; do
            # shellcheck disable=SC2086 # flags are words
            "$CC" -std=c11 -Wall -Wextra -Werror -fsyntax-only $flags "$work/included.c" || fail "$header in C with $flags"
            # shellcheck disable=SC2086
            "$CXX" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ $flags "$work/included.c" || fail "$header in C++ with $flags"
        done
    done
    ;;
without_tests)
    # Installing needs no package of the tests: without cmocka the tree configures, and reports that tests are left out.
    rm -rf "$work/without"
    "$TIDE_CMAKE" -S "$here/../.." -B "$work/without" -DTIDEMARK_CUDA=OFF -DCMOCKA_LIBRARY= -DCMOCKA_INCLUDE_DIR= \
        >"$work/without.log" 2>&1 ||
        fail "it does not configure without cmocka: $(tail -n 20 "$work/without.log")"
    grep -q "the tests are not built, because cmocka is not installed" "$work/without.log" || fail "nothing is said of the tests"
    ;;
page)
    # Runs the commands of docs/guide/using-the-library.md, except those that install the tree.
    command -v pkg-config >/dev/null || exit 77
    export PKG_CONFIG_PATH="$prefix/$TIDE_LIBDIR/pkgconfig" PATH="$prefix/bin:$PATH"
    mkdir -p "$work/page" && cd "$work/page"
    cp "$prefix/$TIDE_DOCDIR/docs/examples/own_buffers.c" .
    awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside && !/^cmake /' \
        "$prefix/$TIDE_DOCDIR/docs/guide/using-the-library.md" >commands.sh
    [ "$(wc -l <commands.sh)" -eq 4 ] || fail "expected 4 commands on the page: $(cat commands.sh)"
    bash -e commands.sh >output.txt 2>&1 || fail "the page's commands fail: $(tail -n 20 output.txt)"
    [ -s report.html ] || fail "the page's commands left no report.html"
    ;;
unwinding)
    "$work/foreign/unwinding"
    ;;
unwinding_selftest)
    # In a process in which libunwind really replaces the system's unwinder the test must fail.
    /sbin/ldconfig -p | grep -q 'libunwind\.so\.8' || exit 77
    status=0
    LD_PRELOAD=libunwind.so.8 "$work/foreign/unwinding" >"$work/selftest.txt" 2>&1 || status=$?
    [ "$status" -eq 1 ] || fail "status $status with libunwind preloaded, expected 1: $(cat "$work/selftest.txt")"
    grep -q 'libunwind' "$work/selftest.txt" || fail "the message does not name libunwind: $(cat "$work/selftest.txt")"
    ;;
*) fail "no step '$step'" ;;
esac
