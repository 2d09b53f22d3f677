#!/usr/bin/env python3
"""Checks the store of a job of which only some ranks run, and their launcher: test_store.py PACKAGES

PACKAGES: the folder of the package. The test talks to the store like PyTorch's client.
"""
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

CLUSTER = Path(sys.argv[1]) / "tidemark" / "cluster"
sys.path.insert(0, str(CLUSTER))
import store  # noqa: E402

PATIENCE = 100  # seconds: the machine may be busy


def sized(value):
    return struct.pack("<Q", len(value)) + value


def many(*values):
    return struct.pack("<Q", len(values)) + b"".join(map(sized, values))


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)

    def tell(self, command, data=b""):
        self.socket.sendall(bytes([command]) + data)

    def hear(self, n):
        found = b""
        while len(found) < n:
            more = self.socket.recv(n - len(found))
            if not more:
                raise EOFError
            found += more
        return found

    def hear_value(self):
        return self.hear(struct.unpack("<Q", self.hear(8))[0])

    def hear_number(self):
        return struct.unpack("<q", self.hear(8))[0]

    def set(self, key, value):
        self.tell(store.SET, sized(key) + sized(value))

    def get(self, key):
        self.tell(store.GET, sized(key))
        return self.hear_value()

    def is_silent(self, seconds=0.3):
        self.socket.settimeout(seconds)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) is None
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(PATIENCE)


class StoreTest(unittest.TestCase):
    """A world of 4 of which the ranks 1 and 2 run."""

    def setUp(self):
        self.server = store.Store(store.Job(4, [1, 2]))
        self.ends = False
        self.failure = None
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        self.clients = []

    def serve(self):
        try:
            while not self.ends:
                self.server.look(0.01)
        except Exception as failure:  # the test fails by it
            self.failure = failure

    def tearDown(self):
        self.ends = True
        self.thread.join()
        self.server.close()
        for client in self.clients:
            client.socket.close()
        self.assertIsNone(self.failure)

    def client(self):
        self.clients.append(Client(self.server.port))
        return self.clients[-1]

    def test_values_come_back(self):
        client, other = self.client(), self.client()
        client.tell(store.VALIDATE, struct.pack("<I", 0x3C85F7CE))
        client.tell(store.PING, b"ping")
        self.assertEqual(client.hear(4), b"ping")
        client.set(b"a\xff", b"1\x00")
        self.assertEqual(client.get(b"a\xff"), b"1\x00")
        self.assertEqual(other.get(b"a\xff"), b"1\x00")
        self.assertEqual(other.get(b"none"), b"")
        client.tell(store.APPEND, sized(b"a\xff") + sized(b"2"))
        client.tell(store.MULTI_SET, struct.pack("<Q", 2) + sized(b"b") + sized(b"B") + sized(b"c") + sized(b""))
        client.tell(store.MULTI_GET, many(b"a\xff", b"c", b"b"))
        self.assertEqual([client.hear_value() for _ in range(3)], [b"1\x002", b"", b"B"])
        client.tell(store.GETNUMKEYS)
        self.assertEqual(client.hear_number(), 3)
        client.tell(store.LIST_KEYS)
        self.assertEqual({client.hear_value() for _ in range(client.hear_number())}, {b"a\xff", b"b", b"c"})
        for there in (1, 0):
            client.tell(store.DELETE_KEY, sized(b"b"))
            self.assertEqual(client.hear_number(), there)

    def test_numbers_add_up(self):
        client = self.client()
        for more, total in ((5, 5), (-7, -2), (0, -2)):
            client.tell(store.ADD, sized(b"n") + struct.pack("<q", more))
            self.assertEqual(client.hear_number(), total)
        self.assertEqual(client.get(b"n"), b"-2")

    def test_a_value_changes_if_it_is_the_expected_one(self):
        client = self.client()
        for expected, wanted, now in ((b"x", b"1", b"x"), (b"", b"1", b"1"), (b"2", b"3", b"1"), (b"1", b"3", b"3")):
            client.tell(store.COMPARE_SET, sized(b"k") + sized(expected) + sized(wanted))
            self.assertEqual(client.hear_value(), now)
        self.assertEqual(client.get(b"k"), b"3")

    def test_who_waits_hears_when_all_keys_are_there(self):
        waits, sets = self.client(), self.client()
        waits.tell(store.WAIT, many(b"one", b"two"))
        sets.set(b"one", b"")
        self.assertTrue(waits.is_silent())
        sets.set(b"two", b"")
        self.assertEqual(waits.hear(1), bytes([store.STOP_WAITING]))
        waits.tell(store.WAIT, many())
        self.assertEqual(waits.hear(1), bytes([store.STOP_WAITING]))
        waits.tell(store.WAIT, many(b"three"))
        waits.tell(store.CANCEL_WAIT)
        self.assertEqual(waits.hear(1), bytes([store.WAIT_CANCELED]))
        sets.set(b"three", b"")
        self.assertTrue(waits.is_silent())
        for key, answer in ((b"three", store.READY), (b"four", store.NOT_READY)):
            waits.tell(store.CHECK, many(key))
            self.assertEqual(waits.hear(1), bytes([answer]))

    def test_pieces_of_a_command_may_come_one_by_one(self):
        client = self.client()
        for byte in bytes([store.SET]) + sized(b"key") + sized(b"value") + bytes([store.GET]) + sized(b"key"):
            client.socket.sendall(bytes([byte]))
            time.sleep(0.002)
        self.assertEqual(client.hear_value(), b"value")

    def test_a_large_value_comes_back(self):
        client = self.client()
        value = os.urandom(1 << 20) * 48
        client.set(b"large", value)
        self.assertTrue(client.get(b"large") == value)

    def test_a_client_that_goes_away_does_not_disturb(self):
        stays, waits, half = self.client(), self.client(), self.client()
        waits.tell(store.WAIT, many(b"k"))
        half.tell(store.SET, sized(b"k")[:5])
        stays.set(b"before", b"1")
        self.assertEqual(stays.get(b"before"), b"1")
        waits.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        waits.socket.close()
        half.socket.close()
        stays.set(b"k", b"1")
        self.assertEqual(stays.get(b"k"), b"1")
        deadline = time.monotonic() + PATIENCE
        while len(self.server.clients) > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(len(self.server.clients), 1)

    def test_what_is_no_command_ends_only_its_client(self):
        stays = self.client()
        stays.set(b"word", b"x")
        spoils = (bytes([200]), bytes([store.QUEUE_LEN]) + sized(b"q"), bytes([store.ADD]) + sized(b"word") + struct.pack("<q", 1))
        for spoil in spoils:
            client = self.client()
            client.socket.sendall(spoil)
            with self.assertRaises((EOFError, ConnectionError)):
                client.hear(1)
        stays.set(b"tidemark/group/odd", b"1,x")  # whose members are unknown
        stays = self.client()
        self.assertEqual(stays.get(b"word"), b"x")

    def test_an_absent_ranks_unique_id_is_answered_for(self):
        first, second = self.client(), self.client()
        key = b"default_pg/0//cuda//0"
        first.tell(store.WAIT, many(key))
        self.assertEqual(first.hear(1), bytes([store.STOP_WAITING]))
        self.assertEqual(len(first.get(key)), store.UNIQUE_ID_BYTES)
        self.assertEqual(second.get(key), first.get(key))

    def test_a_present_ranks_key_is_waited_for(self):
        waits, sets = self.client(), self.client()
        sets.set(b"tidemark/group/mine", b"2,3")
        self.assertEqual(sets.get(b"tidemark/group/mine"), b"2,3")
        key = b"default_pg/mine/0//cuda//0"
        waits.tell(store.WAIT, many(key))
        self.assertTrue(waits.is_silent())
        sets.set(key, b"id")
        self.assertEqual(waits.hear(1), bytes([store.STOP_WAITING]))
        self.assertEqual(waits.get(key), b"id")

    def test_ranks_that_wait_for_ever_are_noticed(self):
        first, second = self.client(), self.client()
        first.tell(store.WAIT, many(b"never"))
        self.assertIsNone(self.server.stuck(2))
        second.tell(store.WAIT, many(b"never"))
        deadline = time.monotonic() + PATIENCE
        while sum(bool(client.awaited) for client in list(self.server.clients.values())) < 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.server.changed = time.monotonic() + PATIENCE  # however long this test was interrupted
        self.assertIsNone(self.server.stuck(2))
        self.server.changed = time.monotonic() - store.IDLE_SECONDS - 1
        self.assertEqual(self.server.stuck(2), "never")
        self.assertIsNone(self.server.stuck(3))


class AnswersTest(unittest.TestCase):
    def test_roots_are_spread_as_nccl_spreads_them(self):
        self.assertEqual([store.root_of(i, 128, 128) for i in range(3)], [0, 0, 0])
        self.assertEqual([store.root_of(i, 129, 128) for i in range(3)], [0, 65, 0])
        self.assertEqual([store.root_of(i, 10, 4) for i in range(3)], [0, 4, 7])

    def test_a_barrier_is_over_when_those_that_run_came(self):
        answers = store.Answers(store.Job(8, [1, 5]))
        key = "store_based_barrier_key:0:last_worker"
        self.assertIsNone(answers.find(key, {"store_based_barrier_key:0": b"1"}))
        self.assertEqual(answers.find(key, {"store_based_barrier_key:0": b"2"}), b"1")
        self.assertIsNone(answers.find("anything/else", {}))

    def test_the_lower_of_two_makes_their_id(self):
        answers = store.Answers(store.Job(8, [1, 5]))
        self.assertIsNone(answers.find("default_pg/0//cuda//1:3", {}))
        self.assertEqual(len(answers.find("default_pg/0//cuda//0:1", {})), store.UNIQUE_ID_BYTES)


RANK = """
import os, signal, sys, time
rank = os.environ["RANK"]
how = sys.argv[1].split(",")[int(os.environ["LOCAL_RANK"])]
open(os.path.join(sys.argv[2], rank), "w").write(" ".join(os.environ[name] for name in
    ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "TIDEMARK_PRESENT_RANKS", "OMP_NUM_THREADS")))
def end(number, frame):
    open(os.path.join(sys.argv[2], "asked"), "w").close()
    os._exit(0)
if how == "waits":
    signal.signal(signal.SIGTERM, end)
    open(os.path.join(sys.argv[2], "ready"), "w").close()
    time.sleep(1000)  # longer than the test may take
while "waits" in sys.argv[1] and not os.path.exists(os.path.join(sys.argv[2], "ready")):
    time.sleep(0.01)
if how == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(int(how))
"""


class LauncherTest(unittest.TestCase):
    def run_ranks(self, how, ranks="0,1", world=6, cards=4):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        script = Path(self.folder.name, "rank.py")
        script.write_text(RANK)
        environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        environment["TIDEMARK_RUN_FOLDER"] = self.folder.name
        command = [sys.executable, "-I", "-B", str(CLUSTER), "--world", str(world), "--ranks", ranks,
                   "--cards", str(cards), "--", sys.executable, str(script), how, self.folder.name]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(ended.stderr, "")
        return ended.returncode

    def file(self, name):
        path = Path(self.folder.name, name)
        return path.read_text() if path.exists() else None

    def test_ranks_know_their_places(self):
        self.assertEqual(self.run_ranks("0,0,0,0", "1,5"), 0)
        self.assertEqual(self.file("1"), "6 4 0 1,5 1")
        self.assertEqual(self.file("5"), "6 2 1 1,5 1")
        self.assertIsNone(self.file("failed"))

    def test_the_first_failure_ends_the_others_and_is_told(self):
        self.assertEqual(self.run_ranks("waits,3"), 3)
        self.assertEqual(self.file("failed"), "1 3\n")
        self.assertIsNotNone(self.file("asked"))

    def test_a_signal_is_the_launchers_end_too(self):
        self.assertEqual(self.run_ranks("waits,killed"), -signal.SIGKILL)
        self.assertEqual(self.file("failed"), f"1 {-signal.SIGKILL}\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
