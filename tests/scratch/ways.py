"""Paths to a user's file through folders that stay real: the end of a path decides.

ways.py FOLDER          prints nothing if everything looked right; run.py looks whether anything really changed
"""
import contextlib
import ctypes
import errno
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.abspath(sys.argv[1])
A = os.path.join(TOP, "ways/a")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content, mode="wb"):
    with open(path, mode) as file:
        file.write(content)


def set_back():
    """A file of the view that equals the real one; the view keeps it as a copy or not at all."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(A)
    write(A, b"precious")
    os.chmod(A, 0o600)


def changes(way):
    """Everything that a program can do at the end of a path to A. The path may lead there without naming A."""
    write(way(), b"evil")
    assert read(A) == b"evil", way()
    write(way(), b" more", "ab")
    assert read(A) == b"evil more" and read(way()) == b"evil more", way()
    os.truncate(way(), 4)
    assert os.stat(A).st_size == 4 == os.stat(way()).st_size, way()
    os.chmod(way(), 0o400)
    os.utime(way(), (5, 5))
    assert os.stat(A).st_mode & 0o777 == 0o400 and os.stat(A).st_mtime == 5, way()
    os.chown(way(), os.getuid(), os.getgid())
    set_back()


def names():
    """Paths that lead to the name A, which can also be renamed and deleted there."""
    shm = tempfile.mkdtemp(prefix="tidemark_ways_", dir="/dev/shm")
    real = os.path.join(os.environ["TEST_REAL"], "ways")
    os.mkdir(real)
    for place in (shm, real):
        os.symlink(os.path.dirname(A), os.path.join(place, "folder"))
        os.symlink(os.path.relpath(os.path.dirname(A), place), os.path.join(place, "relative"))
        os.symlink(os.path.join(place, "folder"), os.path.join(place, "chain"))
    os.symlink(os.path.join(shm, "chain"), "ways/sub/back")
    fd = os.open(os.path.dirname(A), os.O_RDONLY | os.O_DIRECTORY)
    path = os.open(os.path.dirname(A), os.O_PATH)
    me = os.getpid()
    yield from (f"/dev/..{A}", f"/proc/self/../..{A}", f"/proc/self/root{A}", f"/proc/{me}/root{A}", f"/proc/self/task/{me}/root{A}",
                f"/proc/thread-self/root{A}", "/proc/self/cwd/ways/a", f"/proc/{me}/task/{me}/cwd/ways/a", f"/proc/{os.getppid()}/root{A}")
    yield from (f"/proc/self/fd/{fd}/a", f"/dev/fd/{fd}/a", f"/proc/thread-self/fd/{path}/a", f"/proc/self/fd/{path}/sub/../a")
    yield from (os.path.join(place, name, "a") for place in (shm, real) for name in ("folder", "relative", "chain"))
    yield from (os.path.join(TOP, "ways/sub/back/a"), os.path.join(TOP, f"ways/sub/back/../../../../../../..{A}"))
    os.chdir(shm)
    yield from ("folder/a", os.path.relpath(A, shm), f"../../../proc/self/root{A}")
    os.chdir(TOP)
    shutil.rmtree(shm)
    assert os.path.exists(A) and read("ways/sub/b") == b"precious"


def through_names():
    for way in names():
        changes(lambda way=way: way)
        os.rename(way, way + ".renamed")
        assert not os.path.exists(A) and not os.path.lexists(way) and read(A + ".renamed") == b"precious"
        os.unlink(way + ".renamed")
        assert not os.path.exists(A + ".renamed")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(way)
        write(way, b"precious", "xb")
        os.link(way, way + ".linked")
        os.unlink(A + ".linked")
        os.symlink("a", way + ".link")
        assert os.readlink(A + ".link") == "a"
        os.mkdir(way + ".folder")
        assert os.path.isdir(A + ".folder") and "a.folder" in os.listdir(os.path.dirname(way))
        os.rmdir(way + ".folder")
        os.unlink(A + ".link")
        set_back()


def through_descriptors():
    for flags in (os.O_RDONLY, os.O_PATH):
        for pattern in ("/proc/self/fd/{}", "/dev/fd/{}", "/proc/thread-self/fd/{}", f"/proc/{os.getpid()}/fd/{{}}"):
            fd = os.open(A, flags)
            changes(lambda fd=fd, pattern=pattern: pattern.format(fd))
            os.close(fd)


def descriptors_of_folders():
    shm = tempfile.mkdtemp(prefix="tidemark_ways_", dir="/dev/shm")
    os.symlink(os.path.dirname(A), os.path.join(shm, "folder"))
    for folder, rest in (("/proc/self/root", A[1:]), ("/dev/shm", os.path.relpath(A, "/dev/shm")), (shm, "folder/a"), ("/proc/self", "cwd/ways/a")):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        opened = os.open(rest, os.O_WRONLY | os.O_TRUNC, dir_fd=fd)
        os.write(opened, b"evil")
        os.close(opened)
        assert read(A) == b"evil"
        os.unlink(rest, dir_fd=fd)
        assert not os.path.exists(A)
        os.close(fd)
        set_back()
    shutil.rmtree(shm)


def a_shell_does_it_too():
    shm = tempfile.mkdtemp(prefix="tidemark_ways_", dir="/dev/shm")
    os.symlink(os.path.dirname(A), os.path.join(shm, "folder"))
    script = f"echo evil > /proc/self/cwd/ways/a && grep -q evil ways/a && rm -rf {shm}/folder/* && ! test -e ways/a && ! test -e ways/sub"
    assert subprocess.run(["sh", "-c", script]).returncode == 0
    shutil.rmtree(shm)
    os.makedirs("ways/sub", exist_ok=True)
    set_back()


def what_has_no_name_stays():
    """Pipes, files without a name, and files opened before the run."""
    opened = int(os.environ["TEST_OPENED"])
    write(f"/proc/self/fd/{opened}", b"writ")
    write(f"/dev/fd/{opened}", b"ten", "ab")
    reader, writer = os.pipe()
    write(f"/dev/fd/{writer}", b"piped")
    assert os.read(reader, 5) == b"piped"
    fd = os.memfd_create("tidemark")
    write(f"/proc/self/fd/{fd}", b"memory")
    assert read(f"/proc/self/fd/{fd}") == b"memory"
    fd = os.open("ways", os.O_TMPFILE | os.O_RDWR)
    write(f"/proc/self/fd/{fd}", b"nameless")
    assert read(f"/proc/self/fd/{fd}") == b"nameless"
    os.link(f"/proc/self/fd/{fd}", "ways/named", src_dir_fd=reader)  # with AT_SYMLINK_FOLLOW
    assert read("ways/named") == b"nameless"
    assert subprocess.run(["sh", "-c", "echo said > /dev/stdout; echo more >> /dev/stderr"], capture_output=True).stdout == b"said\n"
    assert os.readlink("/proc/self/cwd") == TOP and os.path.realpath("/proc/self/cwd/ways/a") == A
    write("/dev/shm/../null", b"nothing")


def what_is_gone_is_read_but_not_written():
    write("ways/c", b"of the view")
    for path, content in (("far/folder/file", b"far"), ("ways/c", b"of the view")):
        fd = os.open(path, os.O_RDONLY)
        os.unlink(path)
        assert read(f"/proc/self/fd/{fd}") == content
        try:
            write(f"/proc/self/fd/{fd}", b"evil")
            assert path == "ways/c" and read(f"/proc/self/fd/{fd}") == b"evil"
        except OSError as error:
            assert path != "ways/c" and error.errno == errno.EROFS, (path, error)
        os.close(fd)


def folders_that_are_new_are_left_again():
    os.makedirs("ways/new/deep")
    write("ways/new/deep/../../a", b"evil")
    assert read(A) == b"evil"
    write(f"ways/new/../../../../../../../../dev/shm/../..{A}", b"evil!")
    assert read(f"ways/new/..{'/..' * 20}{A}") == b"evil!"
    write(f"ways/new/..{'/..' * 20}/dev/null", b"nothing")
    os.chdir("ways/new")
    write("/proc/self/cwd/file", b"here")
    assert read("file") == b"here" and pathlib.Path("/proc/self/cwd/../a").read_bytes() == b"evil!"
    os.chdir(TOP)
    set_back()


def by_the_librarys_own_handle():
    """dlsym and dlvsym of a handle of the C library."""
    find = ctypes.CDLL(None).dlvsym
    find.restype, find.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    for name in ("libc.so.6", "libpthread.so.0", "libdl.so.2"):
        library = ctypes.CDLL(name)
        assert library.open(A.encode(), os.O_WRONLY | os.O_TRUNC) >= 0 and os.stat(A).st_size == 0
        assert library.unlink(A.encode()) == 0 and not os.path.exists(A)
        set_back()
        unlink = find(library._handle, b"unlink", b"GLIBC_2.2.5")
        assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(unlink)(A.encode()) == 0 and not os.path.exists(A)
        set_back()
        assert library.getpid() == os.getpid()
    library = ctypes.CDLL("libc.so.6")
    again = library.dlsym
    again.restype, again.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)
    unlink = again(library._handle, b"unlink")
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(unlink)(A.encode()) == 0 and not os.path.exists(A)
    set_back()
    try:
        library.no_such_function
        raise AssertionError("found what is not there")
    except AttributeError as error:
        assert "no_such_function" in str(error)


def in_a_library_that_sees_itself_first():
    library = ctypes.CDLL(os.environ["TEST_LIBRARY"], mode=os.RTLD_NOW | os.RTLD_DEEPBIND)
    assert library.library_write(A.encode()) == 0 and read(A) == b"evil"
    assert library.library_unlink(A.encode()) == 0 and not os.path.exists(A)
    set_back()


if __name__ == "__main__":
    os.chdir(TOP)
    for function in (through_names, through_descriptors, descriptors_of_folders, a_shell_does_it_too, what_has_no_name_stays,
                     what_is_gone_is_read_but_not_written, folders_that_are_new_are_left_again, by_the_librarys_own_handle,
                     in_a_library_that_sees_itself_first):
        function()
        os.chdir(TOP)
