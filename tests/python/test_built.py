"""Parts in C++ are built once for a PyTorch, whatever card `tidemark run` simulates: test_built.py PYTHON_FOLDER"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import time
import types
import unittest

sys.path.insert(0, sys.argv.pop(1))
from tidemark import built


TORCH = types.SimpleNamespace(__version__="2.14.1", __file__="/torch/__init__.py")


class Built(unittest.TestCase):
    def load(self, folder, key):
        """How many builds a run makes whose compilers' folder has this key."""
        n_builds = []

        def build(torch, sources, path, *rest):
            n_builds.append(path)
            subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", path], check=True)

        was, built._build = built._build, build
        os.environ["TORCH_EXTENSIONS_DIR"] = os.path.join(folder, key, "extensions")
        try:
            built.load(TORCH, "part", [__file__])
        finally:
            built._build = was
        return len(n_builds)

    def test_once_for_all_cards(self):
        with tempfile.TemporaryDirectory() as cache:
            folder = os.path.join(cache, "tidemark", "compilers")
            self.assertEqual([self.load(folder, "one"), self.load(folder, "one"), self.load(folder, "two")], [1, 0, 0])

    def test_once_for_all_ranks(self):
        with tempfile.TemporaryDirectory() as cache, concurrent.futures.ThreadPoolExecutor(4) as ranks:
            os.environ["TORCH_EXTENSIONS_DIR"] = cache
            n_builds = []

            def build(torch, sources, path, *rest):
                n_builds.append(path)
                time.sleep(0.2)  # the others begin meanwhile
                subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", path], check=True)

            was, built._build = built._build, build
            try:
                list(ranks.map(lambda _: built.load(TORCH, "part", [__file__]), range(4)))
            finally:
                built._build = was
            self.assertEqual(len(n_builds), 1)

    def test_not_of_a_folder_of_the_users(self):
        with tempfile.TemporaryDirectory() as cache:
            self.assertEqual([self.load(cache, "one"), self.load(cache, "two")], [1, 1])

    def test_one_that_cannot_be_loaded_is_built_again(self):
        with tempfile.TemporaryDirectory() as cache:
            folder = os.path.join(cache, "compilers")
            self.load(folder, "one")
            one = os.path.join(folder, "one", "extensions", "tidemark")
            broken = os.path.join(folder, "other", "extensions", "tidemark")
            os.renames(one, broken)  # the loaded library keeps its name
            for file in os.listdir(broken):
                os.remove(os.path.join(broken, file))
                open(os.path.join(broken, file), "w").close()
            self.assertEqual(self.load(folder, "two"), 1)


if __name__ == "__main__":
    unittest.main()
