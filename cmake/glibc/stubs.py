"""Makes what programs for an older glibc are linked with: stubs.py CC MINOR FOLDER.

FOLDER gets libc, libm, libpthread, libdl and librt as glibc 2.MINOR has them, without code: the names, and of each name the
newest version up to 2.MINOR. They are read from the compiler's own glibc, which keeps the old versions of functions. A
function that 2.MINOR lacks is missing there, so a program that calls it cannot be linked. The functions of this folder
(*.c), in libtide_glibc.a, are what a program calls instead.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = {"libc": "libc.so.6", "libm": "libm.so.6"}
# Before 2.34, these functions were in libraries of their own. The names decide, because the newer glibc does not record it.
MOVED = {"libpthread": ("libpthread.so.0", r"_*(pthread|sem)_"), "libdl": ("libdl.so.2", r"dl"),
         "librt": ("librt.so.1", r"(aio|lio|mq|shm|timer)_")}
SYMBOL = re.compile(r"\s*\d+: (\w+)\s+(\d+|0x\w+) (FUNC|OBJECT|IFUNC)\s+(GLOBAL|WEAK)\s+DEFAULT\s+\d+ (\w+)(@@?)GLIBC_([\d.]+)$")


def number(version):
    return tuple(int(part) for part in version.split("."))


def read_symbols(readelf, file, limit):
    """{name: symbol}: of each name that can be linked, the newest version up to `limit`."""
    listing = subprocess.run([readelf, "--dyn-syms", "-W", file], check=True, capture_output=True, text=True).stdout
    found, linkable, moved = {}, set(), set()
    for line in listing.splitlines():
        symbol = SYMBOL.match(line)
        if symbol is None:
            continue
        address, size, kind, binding, name, at, version = symbol.groups()
        if at == "@@":
            linkable.add(name)
            if number(version) > limit:
                moved.add(name)
        if number(version) <= limit and (name not in found or number(version) > number(found[name]["version"])):
            found[name] = {"name": name, "version": version, "address": address, "size": int(size, 0),
                           "is_data": kind == "OBJECT", "binding": binding, "is_moved": False}
    for name in moved & found.keys():
        found[name]["is_moved"] = True
    return {name: symbol for name, symbol in found.items() if name in linkable}


def assembly(symbols):
    """The symbols without code. Names of the same data stay together: a program that copies one has the others, too."""
    lines, places = ['.section .note.GNU-stack,"",%progbits'], {}
    for i, symbol in enumerate(symbols):
        place = symbol["address"] if symbol["is_data"] else f"function {i}"
        places.setdefault(place, []).append((f"tide_stub_{i}", symbol))
    for place in places.values():
        is_data = place[0][1]["is_data"]
        lines += [".data" if is_data else ".text", ".balign 32"]
        for label, symbol in place:
            lines += [f".{'weak' if symbol['binding'] == 'WEAK' else 'globl'} {label}",
                      f".type {label}, %{'object' if is_data else 'function'}", f".size {label}, {symbol['size']}",
                      f".symver {label}, {symbol['name']}@@@GLIBC_{symbol['version']}", f"{label}:"]
        lines.append(f".space {max(symbol['size'] for _, symbol in place) if is_data else 8}")
    return "\n".join(lines) + "\n"


def make_library(cc, folder, name, soname, symbols):
    source, script = folder / f"{name}.s", folder / f"{name}.map"
    source.write_text(assembly(symbols))
    versions = sorted({symbol["version"] for symbol in symbols}, key=number)
    script.write_text("".join(f"GLIBC_{version} {{ }};\n" for version in versions) + "TIDE_STUBS { local: tide_stub_*; };\n")
    subprocess.run([cc, "-shared", "-nostdlib", "-o", folder / soname, f"-Wl,-soname,{soname}", f"-Wl,--version-script,{script}",
                    source], check=True)


def link_script(folder, name, files):
    (folder / f"{name}.so").write_text(f"GROUP ( {' '.join(files)} )\n")


def make_functions(cc, ar, folder):
    objects = []
    for source in sorted(HERE.glob("*.c")):
        objects.append(folder / f"{source.stem}.o")
        subprocess.run([cc, "-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", "-c", source, "-o",
                        objects[-1]], check=True)
    subprocess.run([ar, "rcsD", folder / "libtide_glibc.a", *objects], check=True)


def main():
    cc, minor, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)

    def ask(question):
        return subprocess.run([cc, question], check=True, capture_output=True, text=True).stdout.strip()

    readelf, ar = ask("-print-prog-name=readelf"), ask("-print-prog-name=ar")
    shared = []
    for name, soname in LIBRARIES.items():
        symbols = read_symbols(readelf, ask(f"-print-file-name={soname}"), (2, minor)).values()
        rest = list(symbols)
        for moved, (moved_soname, pattern) in MOVED.items() if name == "libc" else ():
            inside = [symbol for symbol in rest if symbol["is_moved"] and re.match(pattern, symbol["name"])]
            rest = [symbol for symbol in rest if symbol not in inside]
            make_library(cc, folder, moved, moved_soname, inside)
            link_script(folder, moved, [f"{folder}/{moved_soname}"])
            shared.append(f"{folder}/{moved_soname}")
        make_library(cc, folder, name, soname, rest)
        link_script(folder, name, [f"{folder}/{soname}"])
    loader = next(line for line in pathlib.Path(ask("-print-file-name=libc.so")).read_text().splitlines() if "AS_NEEDED" in line)
    loader = re.search(r"AS_NEEDED \( (\S+) \)", loader).group(1)
    link_script(folder, "libc", [f"{folder}/libtide_glibc.a", f"{folder}/libc.so.6", ask("-print-file-name=libc_nonshared.a"),
                                 f"AS_NEEDED ( {' '.join(shared)} {loader} )"])
    make_functions(cc, ar, folder)


if __name__ == "__main__":
    main()
