"""Changes a folder FOLDER in every way that training scripts change files.

program.py FOLDER          prints nothing if it saw all its own changes
run.py starts it with the scratch view and then looks whether anything really changed.
"""
import _sqlite3
import contextlib
import ctypes
import errno
import fcntl
import glob
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import resource
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile

CASES = []


def case(function):
    CASES.append(function)
    return function


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content, mode="wb"):
    with open(path, mode) as file:
        file.write(content)


def names(path="."):
    return sorted(os.listdir(path))


@case
def a_checkpoint_replaces_the_old_one():
    write("model.pt.tmp", b"zeros")
    assert read("model.pt") == b"weights"
    os.replace("model.pt.tmp", "model.pt")
    assert read("model.pt") == b"zeros"
    assert os.stat("model.pt").st_size == 5
    assert not os.path.exists("model.pt.tmp") and "model.pt.tmp" not in os.listdir(".")


@case
def a_file_grows():
    before = os.stat("log.txt").st_mode
    write("log.txt", b"step 2\n", "ab")
    assert read("log.txt") == b"step 1\nstep 2\n"
    assert os.stat("log.txt").st_mode == before
    with open("log.txt", "r+b") as file:
        file.seek(5)
        file.write(b"9")
    assert read("log.txt") == b"step 9\nstep 2\n"
    os.truncate("log.txt", 4)
    assert read("log.txt") == b"step"


@case
def a_file_that_is_deleted_is_gone():
    assert "old.txt" in os.listdir(".") and glob.glob("*.txt").count("old.txt") == 1
    os.unlink("old.txt")
    assert not os.path.lexists("old.txt")
    assert "old.txt" not in os.listdir(".") and glob.glob("old*") == []
    for ask in (lambda: open("old.txt"), lambda: os.stat("old.txt"), lambda: os.unlink("old.txt")):
        try:
            ask()
            raise AssertionError("still there")
        except FileNotFoundError:
            pass
    fd = os.open("old.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(fd, b"new")
    os.close(fd)
    assert read("old.txt") == b"new" and names().count("old.txt") == 1
    try:
        os.open("old.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        raise AssertionError("made twice")
    except FileExistsError:
        pass


@case
def folders_come_and_go():
    os.makedirs("runs/a/b")
    assert names("runs") == ["a"] and os.path.isdir("runs/a/b")
    pathlib.Path("runs/a/b/touched").touch()
    assert os.path.getsize("runs/a/b/touched") == 0
    assert [found for found in glob.glob("runs/**", recursive=True)][-1] == "runs/a/b/touched"
    try:
        os.rmdir("runs/a")
        raise AssertionError("removed a full folder")
    except OSError:
        pass
    shutil.rmtree("runs")
    assert not os.path.exists("runs") and "runs" not in os.listdir(".")
    shutil.rmtree("data")
    assert not os.path.exists("data/one") and not os.path.exists("data")
    os.mkdir("data")
    assert os.listdir("data") == []
    write("data/two", b"again")
    assert names("data") == ["two"]


@case
def a_folder_gets_another_name():
    os.rename("tree", "moved")
    assert not os.path.exists("tree") and read("moved/deep/leaf") == b"leaf"
    assert names("moved") == ["deep", "top"] and "tree" not in os.listdir(".")
    os.remove("moved/top")
    os.rename("moved", "tree")
    assert names("tree") == ["deep"] and read("tree/deep/leaf") == b"leaf"
    shutil.move("tree/deep", "elsewhere")
    assert names("tree") == [] and names("elsewhere") == ["leaf"]


@case
def a_tree_is_copied():
    shutil.copytree("kept", "copy")
    assert names("copy") == names("kept") and read("copy/file") == read("kept/file")
    assert os.stat("copy/file").st_mtime == os.stat("kept/file").st_mtime
    shutil.copy("kept/file", "kept/other")
    assert names("kept") == ["file", "link", "other"]
    write("kept/file", b"changed")
    assert read("kept/link") == b"changed" and read("copy/file") == b"kept"


@case
def links_are_followed():
    os.symlink("kept", "to_kept")
    assert read("to_kept/file") == read("kept/file")
    write("to_kept/through", b"link")
    assert read("kept/through") == b"link" and os.path.islink("to_kept")
    assert os.path.realpath("to_kept/through") == os.path.join(os.getcwd(), "kept", "through")
    os.symlink(os.path.join(os.getcwd(), "to_kept/through"), "absolute")
    assert read("absolute") == b"link" and os.readlink("to_kept") == "kept"
    os.unlink("to_kept")
    assert not os.path.lexists("to_kept") and os.path.isdir("kept") and not os.path.exists("absolute")
    os.link("kept/through", "hard")
    write("hard", b"both")
    assert read("kept/through") == b"both"
    # An existing link to an existing folder.
    write("shortcut/by_shortcut", b"x")
    assert read("far/folder/by_shortcut") == b"x" and "by_shortcut" in os.listdir("far/folder")


@case
def paths_go_up_and_down():
    home = os.getcwd()
    os.makedirs("made/inner")
    os.chdir("made/inner")
    assert os.getcwd() == os.path.join(home, "made", "inner")
    write("here", b"1")
    write("../there", b"2")
    write("../../kept/../up", b"3")
    assert read("../inner/here") == b"1" and read(home + "/made/there") == b"2"
    os.chdir("../..")
    assert os.getcwd() == home and read("up") == b"3" and read("./made//inner/./here") == b"1"
    assert names("made") == ["inner", "there"]
    os.chdir("kept")
    assert read("../up") == b"3"
    os.chdir(home)
    fd = os.open("kept", os.O_RDONLY)
    with contextlib.closing(os.fdopen(os.open("by_fd", os.O_CREAT | os.O_WRONLY, dir_fd=fd), "wb")) as file:
        file.write(b"4")
    assert read("kept/by_fd") == b"4" and "by_fd" in os.listdir(fd)
    os.unlink("by_fd", dir_fd=fd)
    assert "by_fd" not in os.listdir(fd)
    os.close(fd)


@case
def a_database_is_kept():
    for path in ("made.db", "there.db"):
        with contextlib.closing(sqlite3.connect(path)) as base:
            base.execute("create table if not exists t (x)")
            base.executemany("insert into t values (?)", [(i,) for i in range(100)])
            base.commit()
        with contextlib.closing(sqlite3.connect(path)) as base:
            count = base.execute("select count(*) from t").fetchone()[0]
            assert count == (100 if path == "made.db" else 101), count
            assert base.execute("pragma journal_mode=wal").fetchone()[0] == "wal"
            base.execute("delete from t")
            base.commit()


@case
def temporary_files_work():
    with tempfile.NamedTemporaryFile(dir=".", suffix=".x") as file:
        file.write(b"abc")
        file.flush()
        assert os.path.basename(file.name) in os.listdir(".") and read(file.name) == b"abc"
    assert not os.path.exists(file.name)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        write(os.path.join(folder, "x"), b"x")
    assert not os.path.exists(folder)
    with tempfile.TemporaryFile(dir=".") as file:
        file.write(b"nameless")
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "x"), b"x")
        assert names(folder) == ["x"]


@case
def rights_and_times_change():
    os.chmod("rights", 0o600)
    assert os.stat("rights").st_mode & 0o777 == 0o600 and read("rights") == b"rights"
    os.utime("rights", (1, 2))
    assert os.stat("rights").st_mtime == 2
    with open("rights2", "rb") as file:
        os.fchmod(file.fileno(), 0o640)
        os.utime(file.fileno(), (5, 6))
    assert os.stat("rights2").st_mode & 0o777 == 0o640 and os.stat("rights2").st_mtime == 6
    os.chmod("kept", 0o711)
    assert os.stat("kept").st_mode & 0o777 == 0o711
    assert os.access("rights", os.R_OK) and not os.access("no_such", os.F_OK)
    os.mkfifo("pipe")
    assert not os.path.isfile("pipe") and os.path.exists("pipe")


@case
def other_programs_see_the_same():
    write("for_others", b"seen")
    assert subprocess.run(["cat", "for_others"], capture_output=True).stdout == b"seen"
    subprocess.run(["cp", "kept/file", "by_cp"], check=True)
    assert read("by_cp") == read("kept/file")
    subprocess.run("echo shell >by_shell; mkdir -p s/t; mv by_shell s/t/; rm -r far", shell=True, check=True)
    assert read("s/t/by_shell") == b"shell\n" and not os.path.exists("far")
    assert subprocess.run(["/bin/cat", "for_others"], env={}, capture_output=True).stdout == b"seen"
    subprocess.run(["/bin/sh", "-c", "echo bare >bare"], env={}, check=True)
    assert read("bare") == b"bare\n"
    assert os.system("echo system >>bare") == 0 and read("bare") == b"bare\nsystem\n"
    assert os.popen("cat bare").read() == "bare\nsystem\n"
    write("script.sh", b"#!/bin/sh\necho from a copy\n")
    os.chmod("script.sh", 0o755)
    assert subprocess.run(["./script.sh"], capture_output=True).stdout == b"from a copy\n"
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "echo spawned"], {},
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "spawned", os.O_CREAT | os.O_WRONLY, 0o644)])
    assert os.waitpid(pid, 0)[1] == 0 and read("spawned") == b"spawned\n"
    code = "import json, os; json.dump(sorted(os.listdir('.')), open('listing.json', 'w'))"
    subprocess.run([sys.executable, "-c", code], env={}, check=True)
    assert [*json.loads(read("listing.json")), "listing.json"] == [n for n in names() if n != "listing.json"] + ["listing.json"]


def work(i):
    write(f"shared/{i}", str(i).encode())
    for _ in range(20):
        write("shared/counter", b"x", "ab")
        write(f"shared/{i}.tmp", b"t")
        os.replace(f"shared/{i}.tmp", "shared/latest")
    with contextlib.suppress(FileNotFoundError):
        os.unlink("contended")
        return 1
    return 0


@case
def workers_write_at_once():
    os.mkdir("shared")
    for method in ("fork", "spawn"):
        write("contended", b"one winner")
        with contextlib.suppress(FileNotFoundError):
            os.unlink("shared/counter")
        with multiprocessing.get_context(method).Pool(4) as pool:
            assert sum(pool.map(work, range(16))) == 1
        assert names("shared") == sorted([str(i) for i in range(16)] + ["counter", "latest"])
        assert os.path.getsize("shared/counter") == 16 * 20, os.path.getsize("shared/counter")


@case
def sockets_have_paths():
    for name in ("sock", "made_socket_folder/" + "n" * 80):
        os.makedirs("made_socket_folder", exist_ok=True)
        with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as caller:
            listener.bind(name)
            listener.listen()
            assert os.path.exists(name) and stat.S_ISSOCK(os.stat(name).st_mode)
            assert len(name) > 50 or listener.getsockname() == os.path.join(os.getcwd(), name)
            caller.connect(name)
            caller.sendall(b"called")
            with listener.accept()[0] as answer:
                assert answer.recv(10) == b"called"
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(name)
            raise AssertionError("bound twice")
        except OSError as error:
            assert error.errno == errno.EADDRINUSE
        os.unlink(name)
    listener = multiprocessing.connection.Listener(family="AF_UNIX")
    caller = multiprocessing.connection.Client(listener.address)
    caller.send("called")
    assert listener.accept().recv() == "called"
    caller.close()
    listener.close()


@case
def a_copied_library_is_loaded():
    path = _sqlite3.__file__
    shutil.copy(path, "copied.so")
    assert ctypes.CDLL(os.path.abspath("copied.so")).PyInit__sqlite3
    os.rename("copied.so", "renamed.so")
    assert ctypes.CDLL("./renamed.so").PyInit__sqlite3
    for name in ("./copied.so", "./old.txt"):
        try:
            ctypes.CDLL(name)
            raise AssertionError("loaded what is not there")
        except OSError:
            pass
    write("module_of_ours.py", b"answer = 42")
    sys.path.insert(0, os.getcwd())
    import module_of_ours
    assert module_of_ours.answer == 42


@case
def datagrams_find_their_socket():
    os.makedirs("made_socket_folder", exist_ok=True)
    for name in ("gram", "made_socket_folder/" + "n" * 80):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            one.bind(name)
            other.bind(name + ".other")
            assert other.sendto(b"asked", name) == 5
            text, address = one.recvfrom(16)
            assert text == b"asked" and (len(name) > 50 or address == os.path.abspath(name + ".other")), address
            if len(name) < 50:
                assert one.sendto(b"answered", address) == 8 and other.recv(16) == b"answered"
            assert other.sendmsg([b"by", b"message"], [], 0, name) == 9
            assert one.recvmsg(16)[0] == b"bymessage"
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as caller:
                caller.connect(name)
                caller.send(b"called")
                assert one.recv(16) == b"called"


def exchange(one, other, flags=2):
    """renameat2 with RENAME_EXCHANGE: 0, or the errno."""
    library = ctypes.CDLL(None, use_errno=True)
    return 0 if library.renameat2(-100, one.encode(), -100, other.encode(), flags) == 0 else ctypes.get_errno()


@case
def names_are_exchanged():
    write("made.new", b"new")
    assert exchange("made.new", "rights") == 0 and read("rights") == b"new" and read("made.new") == b"rights"
    assert exchange("rights", "made.new") == 0 and read("rights") == b"rights"
    assert exchange("rights", "kept/file") == 0
    was = read("kept/file")
    assert was == b"rights" and exchange("rights", "kept/file") == 0
    os.makedirs("folder.new/inner")
    write("folder.new/inner/x", b"x")
    assert exchange("folder.new", "swap") == 0 and read("swap/inner/x") == b"x" and read("folder.new/folder/file") == b"swap"
    assert names("swap") == ["inner"] and names("folder.new") == ["folder"]
    assert exchange("folder.new", "swap") == 0 and read("swap/folder/file") == b"swap" and names("folder.new") == ["inner"]
    assert exchange("swap", "rights") == 0 and os.path.isdir("rights") and read("swap") == b"rights" and exchange("swap", "rights") == 0
    assert exchange("swap", "not there") == errno.ENOENT and exchange("swap", "swap/folder") == errno.EINVAL
    assert exchange("swap", "rights", 4) == errno.EINVAL and read("swap/folder/file") == b"swap"


@case
def holes_stay_holes():
    """The user's file has 64 MiB, of which 8 KiB are data."""
    with open("holes", "r+b") as file:
        file.seek(1 << 20)
        file.write(b"changed")
    status = os.stat("holes")
    assert status.st_size == 64 << 20 and status.st_blocks * 512 < 1 << 20, status
    with open("holes", "rb") as file:
        assert file.read(4096) == b"a" * 4096 and file.read(1) == b"\0"
        file.seek(1 << 20)
        assert file.read(8) == b"changed\0"
        file.seek(32 << 20)
        assert file.read(4097) == b"b" * 4096 + b"\0"


@case
def descriptors_follow_a_file_that_moves():
    with open("turned", "rb") as file:
        os.rename("turned", "turned2")
        write("turned", b"another")
        os.fchmod(file.fileno(), 0o640)
        os.utime(file.fileno(), (7, 7))
        assert os.stat("turned2").st_mode & 0o777 == 0o640 and os.stat("turned2").st_mtime == 7
        assert os.stat("turned").st_mtime != 7
        os.rename("turned2", "turned3")
        os.fchmod(file.fileno(), 0o604)
        assert os.stat("turned3").st_mode & 0o777 == 0o604
        os.unlink("turned3")
        os.fchmod(file.fileno(), 0o600)
    with open("ways/sub/b", "rb") as file:
        os.rename("ways", "ways2")
        os.fchmod(file.fileno(), 0o640)
        assert os.stat("ways2/sub/b").st_mode & 0o777 == 0o640
        write(f"/proc/self/fd/{file.fileno()}", b"by its descriptor")
        assert read("ways2/sub/b") == b"by its descriptor"
        os.rename("ways2/sub", "sub3")
        os.unlink("sub3/b")
        os.fchmod(file.fileno(), 0o600)


@case
def marks_of_file_systems_are_refused():
    with open("untouched", "rb") as file:
        try:
            fcntl.ioctl(file.fileno(), 0x40086602, b"\x40\0\0\0\0\0\0\0")  # FS_IOC_SETFLAGS, no dump
            raise AssertionError("marked")
        except OSError as error:
            assert error.errno in (errno.EOPNOTSUPP, errno.ENOTTY), error


@case
def a_file_that_is_too_long_is_refused():
    if os.fork() == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        try:
            open("holes2", "r+b")
        except OSError as error:
            os._exit(0 if error.errno == errno.EFBIG else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0


@case
def what_stays_real_is_real():
    write("/dev/null", b"nothing")
    write("/dev/shm/tidemark_scratch_test", b"real")
    os.unlink("/dev/shm/tidemark_scratch_test")
    write(os.path.join(os.environ["TEST_REAL"], "really"), b"written")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    chosen = sys.argv[2:]
    for function in CASES:
        if not chosen or function.__name__ in chosen:
            os.chdir(sys.argv[1])
            function()
