#!/usr/bin/env python3
"""Compares registers and shared memory of kernels, as the virtual card reads them, with cuobjdump's output:
check_images.py CHECK_IMAGES LIBRARY CUOBJDUMP

Every 40th fat binary of the library is checked, in all its architectures. Newer compilers include the system's 1 KiB of
each block in a kernel's shared memory; the card counts it separately.
"""
import mmap
import os
import re
import struct
import subprocess
import sys
import tempfile

MAGIC, BINARY, EVERY = 0xBA55ED50, 2, 40
SYSTEM_BYTES = 1024


def fat_section(file):
    """Offset and bytes of the section .nv_fatbin."""
    at, = struct.unpack_from("<Q", file, 40)
    size, n, names = struct.unpack_from("<HHH", file, 58)
    rows = [struct.unpack_from("<IIQQQQ", file, at + i * size) for i in range(n)]
    for row in rows:
        start = rows[names][4] + row[0]
        if file[start:file.find(b"\0", start)] == b".nv_fatbin":
            return row[4], row[5]
    raise SystemExit("the library has no section .nv_fatbin")


def fat_binaries(file):
    at, n_bytes = fat_section(file)
    end = at + n_bytes
    while at < end:
        magic, _, header, size = struct.unpack_from("<IHHQ", file, at)
        if magic == MAGIC:
            yield at + header, at + header + size
            at += header + size
        else:
            at += 8


def entries(file, at, end):
    """Offset and architecture of each entry with machine code."""
    while at + 64 <= end:
        kind, _, header, size = struct.unpack_from("<HHIQ", file, at)
        if kind == BINARY:
            yield at, struct.unpack_from("<I", file, at + 28)[0]
        at += header + size


def name_hash(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def compare(program, cuobjdump, library, entry, end):
    with tempfile.TemporaryDirectory() as folder:
        code = os.path.join(folder, "code.cubin")
        lines = subprocess.run([program, library, str(entry), str(end), code], check=True, capture_output=True, text=True).stdout
        told = subprocess.run([cuobjdump, "-res-usage", code], check=True, capture_output=True, text=True)
    found = {int(h): (int(r), int(s)) for h, r, s in map(str.split, lines.splitlines())}
    n = 0
    for name, registers, shared in re.findall(r"Function (\S+):\s*REG:(\d+) STACK:\d+ SHARED:(\d+)", told.stdout + told.stderr):
        own = found.get(name_hash(name))
        assert own is not None, f"not read: {name}"
        assert own[0] == int(registers) and int(shared) - own[1] in (0, SYSTEM_BYTES), f"{name}: {own}, not {registers}, {shared}"
        n += 1
    return n


def main():
    program, library, cuobjdump = sys.argv[1:]
    n_images = n_kernels = 0
    with open(library, "rb") as opened:
        file = mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ)
        for i, (at, end) in enumerate(fat_binaries(file)):
            for entry, _ in entries(file, at, end) if i % EVERY == 0 else ():
                n_kernels += compare(program, cuobjdump, library, entry, end)
                n_images += 1
    assert n_images > 10 and n_kernels > 100, (n_images, n_kernels)
    print(f"{n_images} images, {n_kernels} kernels: registers and shared memory are as cuobjdump says")


main()
