"""Native frames of stacks beside those that PyTorch's own history has: torch's functions by name and order.

Ours are addresses that a later process names from the files of the program; PyTorch names its own in the process. So the
names of static functions may differ, where only one of the two sees their symbols. What is compared begins outside of the
allocator, and ends where Python's frames begin: after them a stack of both kinds has no native frames.
"""
import subprocess

AT_LEAST = 0.95  # of the stacks are identical
OF_TORCH = ("at::", "c10::", "torch::")


def demangled(names):
    if not names:
        return {}
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.split("\n")))


def plain(name):
    """Without arguments, which the two write differently, and without marks of the compiler."""
    return name.replace("(anonymous namespace)", "{}").split("(")[0].split("[clone")[0].strip()


def functions(frames, names, is_python):
    found = []
    for frame in frames:
        if is_python(frame):
            break
        name = names.get(frame["name"], frame["name"])
        if any(part in name for part in OF_TORCH):
            found.append(plain(name))
    inner = [i for i, name in enumerate(found) if "CachingAllocator" in name]
    return found[inner[-1] + 1:] if inner else found


def compare(result, ours, theirs, is_python):
    """ours, theirs: entries of a device's trace, the same events in the same order."""
    names = demangled(sorted({f["name"] for entry in ours for f in entry["frames"] if f["name"].startswith("_Z")}))
    n_same = n_frames = n = 0
    for mine, other in zip(ours, theirs):
        if other["action"] == "snapshot":
            continue
        a, b = functions(mine["frames"], names, is_python), functions(other["frames"], {}, is_python)
        n, n_same, n_frames = n + 1, n_same + (a == b), n_frames + len(b)
        if a != b and n - n_same <= 2:
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            result.notes.append(f"native frames differ at {at}: ours {a[at:at + 2]}, theirs {b[at:at + 2]}")
        if n_same == n and a and "tide_" in mine["frames"][0]["name"]:
            result.differs("native frames", "the recorder's own are not cut", mine["frames"][0]["name"])
    result.notes.append(f"{n_same} of {n} native stacks are identical, {n_frames} frames")
    if n == 0 or n_frames < n or n_same < AT_LEAST * n:
        result.differs("native frames", result.notes)
