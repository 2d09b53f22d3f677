"""What the runner asks of a recipe, which answers the rows of one kind of source."""
from pathlib import Path

import rows

PROGRAMS = Path(__file__).resolve().parent / "programs"


class Recipe:
    """Its program prints a line for each answer, as it finds it, with tabs between the fields:

      ROW key what value unit
      ROW key what FAILED reason
      NOTE key what text          beside the answer in the table

    key and what as in the row, key by key(). The program runs inside the PyTorch of torch(), without the runner's modules.
    The file {rows} has a line for each row that it shall answer: key, program, config, card, what, value.
    """
    name = ""
    packages = None  # pip's words for an environment of its own; None: PyTorch alone
    environment = ""  # its name; recipes with the same packages may share one
    shared: tuple = ()  # files of programs/ that its program imports, beside x_*.py
    clone = ""       # a repository on GitHub, of whose clone {clone} becomes the folder
    seconds = 3600   # of a process
    settings: dict = {}  # variables of the process

    def matches(self, row: rows.Row) -> bool:
        raise NotImplementedError

    def group(self, row: rows.Row):
        """Rows of one group are answered by one process."""
        return self.card(row), row.program

    def card(self, row: rows.Row) -> tuple:
        """The words after --device, and other options of tidemark run."""
        return (f"virtual:{row.card}",)

    def torch(self, row: rows.Row) -> str:
        """The version of PyTorch: 2.6, 2.8, 2.11 or 2.14."""
        return "2.14"

    def command(self, group: list) -> list:
        """Words after the interpreter; one that names a file of programs/ becomes its path, {rows} that of the rows."""
        raise NotImplementedError

    def key(self, row: rows.Row) -> str:
        return row.config

    def kind(self, row: rows.Row) -> str:
        return rows.kind(row.what)

    def same_program(self, row: rows.Row):
        """True if our program is the published one; otherwise, in words, what differs. Targets are for the same programs."""
        return True

    def reason(self, row: rows.Row, answer: dict) -> str:
        """Why a row is off, in a word or a few. answer has value, note, failed; "" is for what is unexplained."""
        return ""

    def sample(self, row: rows.Row) -> bool:
        """True for the rows of the fixed sample."""
        return False

    def texts(self) -> list:
        """The files whose change makes old answers void: x.py and what it imports, x_*.py."""
        stems = [Path(word).stem for word in self.command([]) if (PROGRAMS / word).is_file()]
        stems += [Path(name).stem for name in self.shared]
        return sorted(file for stem in stems for file in PROGRAMS.glob(f"{stem}*.py") if file.stem == stem or file.stem.startswith(f"{stem}_"))
