"""Looks for two cards as programs do, by files; prints what is wrong."""
import ctypes
import errno
import glob
import os
import pathlib
import stat
import subprocess

NAMES = ["/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"]
GPUS = ["0000:01:00.0", "0000:02:00.0"]


def same(what, found, wanted):
    if found != wanted:
        print(f"{what}: {found!r}, not {wanted!r}")


def shell(command):
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True).stdout.split()


def look_in_dev():
    same("glob", sorted(glob.glob("/dev/nvidia*")), NAMES)
    same("os.listdir", sorted(f"/dev/{name}" for name in os.listdir("/dev") if name.startswith("nvidia")), NAMES)
    same("the others", {"null", "zero"} <= set(os.listdir("/dev")), True)
    same("a kind", [row.is_file() for row in os.scandir("/dev") if row.name == "nvidia0"], [False])
    same("os.stat", stat.S_ISCHR(os.stat("/dev/nvidia0").st_mode), True)
    same("os.lstat", stat.S_ISCHR(os.lstat("//dev/./nvidia1").st_mode), True)
    same("access", os.access("/dev/nvidiactl", os.R_OK | os.W_OK), True)
    same("no third card", os.path.exists("/dev/nvidia2"), False)
    same("below a file", os.path.exists("/dev/nvidia0/a"), False)
    same("realpath", os.path.realpath("/dev/../dev/nvidia0"), "/dev/nvidia0")
    with open("/dev/nvidiactl", "r+b", buffering=0) as file:
        same("write", file.write(b"x"), 1)
        same("read", file.read(8), b"")
    folder = os.open("/dev", os.O_RDONLY | os.O_DIRECTORY)
    same("by a descriptor", stat.S_ISCHR(os.stat("nvidia0", dir_fd=folder).st_mode), True)
    os.chdir("/dev")
    same("relative", os.path.exists("nvidia0"), True)
    os.chdir("/")
    same("shared memory", os.path.isdir("/dev/shm") == os.path.isdir("/dev/shm/."), True)


def resolve():
    """The C library's realpath: what it finds, and errno."""
    library = ctypes.CDLL(None, use_errno=True)
    library.realpath.restype = ctypes.c_char_p
    room = ctypes.create_string_buffer(4096)
    rows = {b"/dev/./nvidia0": (b"/dev/nvidia0", errno.EIO), b"/dev/nvidia7": (None, errno.ENOENT),
            b"/dev/nvidia0/a": (None, errno.ENOTDIR), b"/sys/module/nvidia": (b"/sys/module/nvidia", errno.EIO)}
    for path, wanted in rows.items():
        ctypes.set_errno(errno.EIO)
        same(f"realpath {path}", (library.realpath(path, room), ctypes.get_errno()), wanted)
    if "TIDE_TEST_MANY_CARDS" in os.environ:  # /dev/nvidia7 is hidden
        below = ctypes.CDLL(os.environ["LD_PRELOAD"].split(":")[-1])
        below.realpath.restype = ctypes.c_char_p
        same("the machine's card", below.realpath(b"/dev/nvidia7", room), b"/dev/nvidia7")


def change_nothing():
    ways = {"chmod": lambda name: os.chmod(name, 0o600), "remove": os.remove, "rename": lambda name: os.rename(name, "a"),
            "mkdir": lambda name: os.mkdir(name + "-new"), "link": lambda name: os.symlink("a", name + "-new")}
    for way, change in ways.items():
        for name in ("/dev/nvidia0", "/proc/driver/nvidia/version"):
            try:
                change(name)
                print(f"{way} {name} was not refused")
            except PermissionError:
                pass
    for name in ("/dev/nvidia9", "/proc/driver/nvidia/new"):
        for flags in (os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_CREAT | os.O_EXCL):
            try:
                os.close(os.open(name, flags, 0o600))
                print(f"{name} was made")
            except PermissionError:
                pass
    with open("/dev/nvidia0", "w", buffering=1) as file:  # with O_CREAT, as a shell's redirection
        file.write("x\n")
    same("what stayed in the driver's folder", sorted(os.listdir("/proc/driver/nvidia")), ["gpus", "params", "version"])
    same("what stayed", shell("ls /dev/nvidia* | wc -l"), ["5"])


def look_at_driver():
    version = pathlib.Path("/sys/module/nvidia/version").read_text().strip()
    fopen = ctypes.CDLL(None).fopen
    fopen.restype = ctypes.c_void_p
    same("fopen", fopen(b"/sys/module/nvidia/version", b"r") is not None, True)
    text = pathlib.Path("/proc/driver/nvidia/version").read_text()
    same("version", text.startswith("NVRM version: ") and f"Kernel Module  {version}  " in text, True)
    same("params", "ModifyDeviceFiles: 0" in open("/proc/driver/nvidia/params").read(), True)
    same("gpus", sorted(os.listdir("/proc/driver/nvidia/gpus")), GPUS)
    for number, name in enumerate(GPUS):
        rows = dict(row.split(":", 1) for row in open(f"/proc/driver/nvidia/gpus/{name}/information"))
        rows = {key: value.strip() for key, value in rows.items()}
        smi = shell(f"nvidia-smi -i {number} --query-gpu=uuid,driver_version,name --format=csv,noheader")
        same("a card", [rows["GPU UUID"] + ",", version + ","], smi[:2])
        same("its name", rows["Model"].split(), smi[2:])
        same("its place", (rows["Bus Location"], rows["Device Minor"]), (name, str(number)))
    same("modules", sorted(n for n in os.listdir("/sys/module") if n.startswith("nvidia")), ["nvidia", "nvidia_uvm"])
    same("os.walk", len(list(os.walk("/proc/driver/nvidia"))), 4)
    same("proc of the process", os.readlink("/proc/self"), str(os.getpid()))


def look_in_shell():
    same("ls", shell("ls /dev/nvidia*"), NAMES)
    same("test", shell("test -e /dev/nvidia0 && test -c /dev/nvidiactl && ! test -e /dev/nvidia9 && echo yes"), ["yes"])
    same("cat", shell("cat /sys/module/nvidia/version | wc -l"), ["1"])
    same("an empty environment", shell("env -i ls /dev/nvidia1"), ["/dev/nvidia1"])


look_in_dev()
resolve()
change_nothing()
look_at_driver()
look_in_shell()
