#!/usr/bin/env bash
# The tarball and the wheel on other systems: roots.sh TARBALL WHEEL WORK [PYTHON]. Ubuntu 20.04 (glibc 2.31; its Python is too
# old for the wheel) and 24.04 are made with debootstrap, once, in WORK. PYTHON: an interpreter with PyTorch, which 24.04 also runs.
# RHEL 8, with glibc 2.28 itself, has no installer among Debian's packages.
set -eu
tarball=$(realpath "$1") wheel=$(realpath "$2")
work=$3
with_torch=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/wheel/common.sh
. "$here/common.sh"
keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
mkdir -p "$work"

# True if WORK/SUITE is that system. A half-made one has another name.
make_root() { # SUITE PACKAGES
    [ ! -e "$work/$1/bin/sh" ] || return 0
    rm -rf "$work/$1.part"
    debootstrap --variant=minbase --components=main,universe --keyring="$keys" --include="$2" "$1" "$work/$1.part" http://archive.ubuntu.com/ubuntu >"$work/$1.txt" 2>&1 ||
        return 1
    rm -rf "$work/$1.part"/var/cache/apt/archives/*.deb
    mv "$work/$1.part" "$work/$1"
}

# Runs a script there, as a system with /proc and /dev of its own sees it; what is mounted vanishes with it.
inside() { # SUITE SCRIPT [FOLDER SEEN THERE]...
    local root=$work/$1 script=$2
    shift 2
    unshare -m bash -eu -c 'root=$1 script=$2
        shift 2
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        for folder; do mkdir -p "$root$folder"; mount --bind "$folder" "$root$folder"; done
        exec chroot "$root" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root LC_ALL=C sh -eu -c "$script"' - "$root" "$script" "$@"
}

put() { # SUITE
    rm -rf "$work/$1/t"
    mkdir -p "$work/$1/t"
    cp "$tarball" "$work/$1/t/t.tar.gz"
    cp "$wheel" "$here/train.py" "$here/program.py" "$work/$1/t"
    sed 's/^import tidemark//; s/^with .*//; s/^ .*step()$//; s/^print.*/print(n_bytes.value)\nopen("made.txt", "w").write("kept away")/' "$here/program.py" >"$work/$1/t/bare.py"
}

TRY='cd /t; tar -xzf t.tar.gz; mv tidemark-* tidemark; PATH=/t/tidemark/bin:$PATH
tidemark profile --size small --device virtual --layers 2 --context 64 -o own.json.gz >profile.txt 2>&1
! grep "call stacks" profile.txt
tidemark explain own.json.gz; tidemark view own.json.gz -o own.html; test -s own.html
tidemark run --device virtual:h100-80 -- python3 bare.py; test ! -e made.txt
tidemark run --device virtual:h100-80 -- nvidia-smi'

check_root() { # SUITE NAME GLIBC
    inside "$1" 'ldd --version' >"$work/$1.txt" && has "$work/$1.txt" "$3" "$2 has another glibc"
    put "$1"
    inside "$1" "$TRY" >"$work/$1.txt" 2>&1 || fail "$2: $(tail -n 20 "$work/$1.txt")"
    has "$work/$1.txt" '^84929347584$' "the program does not see the card"
    has "$work/$1.txt" 'NVIDIA H100' "nvidia-smi does not see the card"
    has "$work/$1.txt" '^The peak, ' "explain has no answer"
    passed "$2 with glibc $3: profile, explain, view, run and nvidia-smi"
}

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null || [ ! -e "$keys" ]; then
    skipped "Ubuntu 20.04 and 24.04: they need root, debootstrap and ubuntu-keyring"
    exit
fi
if make_root focal python3; then
    check_root focal "Ubuntu 20.04" 2.31
else
    skipped "Ubuntu 20.04: debootstrap: $(tail -n 1 "$work/focal.txt")"
fi
if make_root noble python3,python3-venv; then
    check_root noble "Ubuntu 24.04" 2.39
    inside noble 'cd /t; python3 -m venv v; v/bin/pip install -q --no-index --no-deps *.whl
        PATH=/t/v/bin:$PATH; tidemark-gpu run --device virtual:h100-80 -- python program.py' >"$work/noble.txt" 2>&1 || fail "$(cat "$work/noble.txt")"
    has "$work/noble.txt" '^84929347584 bytes, known as tidemark$' "the wheel does not run"
    passed "Ubuntu 24.04: the wheel, with its own Python"
    if [ -n "$with_torch" ]; then
        base=$("$with_torch" -c 'import sys; print(sys.base_prefix)') prefix=$("$with_torch" -c 'import sys; print(sys.prefix)')
        inside noble "cd /t; tidemark/bin/tidemark run --device virtual:h100-80 -o train.json.gz -- $with_torch train.py" "$base" "$prefix" >"$work/noble.txt" 2>&1 ||
            fail "$(cat "$work/noble.txt")"
        has "$work/noble.txt" 'it fits virtual:h100-80' "no answer"
        passed "Ubuntu 24.04: a program with PyTorch"
    fi
else
    skipped "Ubuntu 24.04: debootstrap: $(tail -n 1 "$work/noble.txt")"
fi
printf '%d passed, 0 failed\n' "$n_passed"
