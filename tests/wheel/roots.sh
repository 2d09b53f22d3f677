#!/usr/bin/env bash
# The tarball and the wheel on other systems, made once in WORK by debootstrap: roots.sh TARBALL WHEEL WORK [PYTHON]
# Debian 11 and Ubuntu 20.04 have glibc 2.31, and a Python that is too old for the wheel; Ubuntu 24.04 has 2.39. Debian's apt has no
# keys of Ubuntu's: without /usr/share/keyrings/ubuntu-archive-keyring.gpg, TIDEMARK_UNSIGNED_ROOTS=1 allows its packages unchecked.
# PYTHON: an interpreter with PyTorch, which Ubuntu 24.04 also runs. RHEL 8, with glibc 2.28 itself, is not tried: debootstrap makes
# systems of .deb packages only.
set -eu
tarball=$(realpath "$1") wheel=$(realpath "$2")
work=$3
with_torch=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/wheel/common.sh
. "$here/common.sh"
mkdir -p "$work"

# True if WORK/SUITE is that system. A half-made one has another name.
make_root() { # SUITE PACKAGES
    local distribution=ubuntu mirror=http://archive.ubuntu.com/ubuntu keys script=gutsy
    [ ! -e "$work/$1/bin/sh" ] || return 0
    if [ "$1" = bullseye ]; then
        distribution=debian mirror=http://deb.debian.org/debian script=sid
    fi
    keys=/usr/share/keyrings/$distribution-archive-keyring.gpg
    if [ -e "$keys" ]; then
        keys=--keyring=$keys
    elif [ -n "${TIDEMARK_UNSIGNED_ROOTS:-}" ]; then
        keys=--no-check-gpg
    else
        echo "$keys is missing" >"$work/$1.txt"
        return 1
    fi
    rm -rf "$work/$1.part"
    debootstrap --variant=minbase "$keys" --components="main${3:-}" --include="$2" "$1" "$work/$1.part" "$mirror" "/usr/share/debootstrap/scripts/$script" >"$work/$1.txt" 2>&1 ||
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
    bare_program >"$work/$1/t/bare.py"
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

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    skipped "other systems: they need root and debootstrap"
    exit
fi
for row in "bullseye:Debian 11" "focal:Ubuntu 20.04"; do
    if make_root "${row%%:*}" python3; then
        check_root "${row%%:*}" "${row#*:}" 2.31
    else
        skipped "${row#*:}: $(tail -n 1 "$work/${row%%:*}.txt")"
    fi
done
if make_root noble python3,python3-venv ,universe; then
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
    skipped "Ubuntu 24.04: $(tail -n 1 "$work/noble.txt")"
fi
printf '%d passed, 0 failed\n' "$n_passed"
