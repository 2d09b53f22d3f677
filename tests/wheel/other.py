"""Makes a wheel of a distribution `tidemark` that is not ours: its own command, and a package of the same name.

other.py FOLDER
"""
import pathlib
import sys
import zipfile

FILES = {
    "tidemark/__init__.py": "",
    "tidemark/other.py": "def main():\n    print('another program')\n",
    "tidemark-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: tidemark\nVersion: 9.9\n",
    "tidemark-9.9.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: other\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tidemark-9.9.dist-info/entry_points.txt": "[console_scripts]\ntidemark = tidemark.other:main\n",
    "tidemark-9.9.dist-info/top_level.txt": "tidemark\n",
}
RECORD = "tidemark-9.9.dist-info/RECORD"
with zipfile.ZipFile(pathlib.Path(sys.argv[1]) / "tidemark-9.9-py3-none-any.whl", "w") as wheel:
    for name, text in FILES.items():
        wheel.writestr(name, text)
    wheel.writestr(RECORD, "".join(f"{name},,\n" for name in [*FILES, RECORD]))
