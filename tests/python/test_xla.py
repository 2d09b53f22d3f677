#!/usr/bin/env python3
"""Checks what is reported of XLA's memory: test_xla.py PACKAGES

The classes are stand-ins with the members of JAX's that are used.
"""
import os
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, sys.argv[1])
from tidemark.serving import xla  # noqa: E402


def frame(function, file, line):
    return types.SimpleNamespace(function_name=function, file_name=file, line_num=line)


class Executable:
    def __init__(self, peak, platform="cuda"):
        self.peak, self.client = peak, types.SimpleNamespace(platform=platform)

    def get_compiled_memory_stats(self):
        return types.SimpleNamespace(peak_memory_in_bytes=self.peak)


class Device:
    platform, local_hardware_id = "gpu", 0

    def __init__(self, stats):
        self.stats = stats

    def memory_stats(self):
        return self.stats


def fail():
    raise RuntimeError("RESOURCE_EXHAUSTED")


def array(n_bytes, *frames, block_until_ready=lambda: None):
    return types.SimpleNamespace(nbytes=n_bytes, traceback=types.SimpleNamespace(frames=frames), block_until_ready=block_until_ready)


INSIDE = frame("apply", "/v/site-packages/jax/_src/core.py", 9)
TRAIN = frame("train", "/home/me/train.py", 12)
MODULE = frame("<module>", "/home/me/train.py", 3)


class XlaTest(unittest.TestCase):
    def setUp(self):
        xla._most[0] = -1
        self.folder = tempfile.TemporaryDirectory()
        os.environ["TIDEMARK_RUN_FOLDER"] = self.folder.name
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(sys.__dict__.pop, "last_value", None)
        for name in ("jax", "jax._src.xla_bridge"):
            self.addCleanup(sys.modules.pop, name, None)

    def report(self, devices, arrays=(), backends=("cuda",)):
        jax = types.ModuleType("jax")
        jax.local_devices, jax.live_arrays = lambda: devices, lambda: arrays
        bridge = types.ModuleType("jax._src.xla_bridge")
        bridge._backends = backends
        sys.modules["jax"], sys.modules["jax._src.xla_bridge"] = jax, bridge
        xla._report()
        path = os.path.join(self.folder.name, f"{os.getpid()}.xla")
        if not os.path.exists(path):
            return None
        with open(path) as file:
            return file.read()

    def test_figures_of_a_device(self):
        compiler = types.ModuleType("jax._src.compiler")
        compiler.backend_compile = lambda executable: executable
        xla._change(compiler)
        for executable in (Executable(10), Executable(30), Executable(20), Executable(40, "cpu"), object()):
            self.assertIs(compiler.backend_compile(executable), executable)
        text = self.report([Device({"peak_bytes_in_use": 700, "bytes_limit": 9000})])
        self.assertEqual(text, "device\t0\t700\t9000\t30\t-1\t1\t1\t\n")

    def test_the_end_and_the_compiler_are_watched_once(self):
        compiler = types.ModuleType("jax._src.compiler")
        names = ("backend_compile_and_load", "backend_compile")  # by version
        for name in names:
            setattr(compiler, name, lambda executable: executable)
        sys.modules["jax._src.compiler"] = compiler
        self.addCleanup(sys.modules.pop, "jax._src.compiler")
        ends = []
        with unittest.mock.patch.object(xla.atexit, "register", ends.append):
            xla.watch()
            xla.watch()
        self.addCleanup(xla._watched.clear)
        self.assertEqual(ends, [xla._report])
        for name, peak in zip(names, (10, 20)):
            getattr(compiler, name)(Executable(peak))
            self.assertEqual(xla._most, [peak])

    def test_an_allocator_without_figures(self):
        self.assertEqual(self.report([Device(None)]), "device\t0\t-1\t-1\t-1\t-1\t1\t1\t\n")

    def test_several_cards(self):
        second = Device({"peak_bytes_in_use": 5})
        second.local_hardware_id = 1
        text = self.report([Device({"peak_bytes_in_use": 7}), second])
        self.assertEqual(text, "device\t0\t7\t-1\t-1\t-1\t1\t1\t\ndevice\t1\t5\t-1\t-1\t-1\t1\t1\t\n")

    def test_flags_that_switch_features_off(self):
        for flags, expected in (("--xla_gpu_enable_command_buffer= --xla_gpu_autotune_level=0", ["0", "0"]),
                                ("--xla_gpu_enable_command_buffer=FUSION --xla_gpu_autotune_level=4", ["1", "1"]),
                                ("--xla_gpu_autotune_level=4 --xla_gpu_autotune_level=0", ["1", "0"])):
            os.environ["XLA_FLAGS"] = flags
            self.addCleanup(os.environ.pop, "XLA_FLAGS", None)
            self.assertEqual(self.report([Device({})]).split("\t")[6:8], expected)

    def test_the_line_that_failed(self):
        error = RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 16 bytes.")
        try:
            raise error
        except RuntimeError:
            sys.last_value = error
            sys.last_traceback = error.__traceback__
        self.addCleanup(sys.__dict__.pop, "last_traceback", None)
        place = self.report([Device({})]).rstrip("\n").split("\t")[8]
        self.assertRegex(place, r"test_the_line_that_failed \(test_xla.py:\d+\)")

    def test_arrays_by_line(self):
        arrays = [array(5, INSIDE, TRAIN), array(7, MODULE), array(6, INSIDE, TRAIN, MODULE), types.SimpleNamespace(nbytes=1, block_until_ready=lambda: None),
                  array(99, MODULE, block_until_ready=fail)]
        text = self.report([Device({})], arrays)
        arrays += [array(n, frame("other", "/home/me/other.py", n)) for n in (3, 4)]
        self.assertEqual(len(self.report([Device({})], arrays).splitlines()), 4)
        self.assertEqual(text.splitlines()[1:], ["array\t11\t2\ttrain (train.py:12)", "array\t7\t1\ttrain.py:3", "array\t1\t1\t"])

    def test_a_request_without_room(self):
        sys.last_value = RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.")
        self.assertEqual(self.report([Device({"peak_bytes_in_use": 1})]), "device\t0\t1\t-1\t-1\t17179869184\t1\t1\t\n")

    def test_messages(self):
        self.assertEqual(xla.asked_bytes("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 16.00GiB."), 16 << 30)
        for unit, n_bytes in (("B", 1), ("KiB", 1 << 10), (" MiB", 1 << 20), ("TiB", 1 << 40)):
            self.assertEqual(xla.asked_bytes(f"RESOURCE_EXHAUSTED: Failed to allocate 1.5{unit}"), int(1.5 * n_bytes))
        self.assertEqual(xla.asked_bytes("INVALID_ARGUMENT: allocate 16 bytes"), -1)

    def test_other_platforms_and_unused_devices(self):
        device = Device({})
        self.assertIsNone(self.report([device], backends=()))
        device.platform = "cpu"
        self.assertIsNone(self.report([device]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
