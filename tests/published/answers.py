"""What programs printed, in a file that grows line by line: a run that was interrupted continues."""
import hashlib
import json
from pathlib import Path

from recipe import Recipe


class Answers:
    """older: also answers that an older tidemark gave. Those of an older recipe are void."""

    def __init__(self, file: Path, tidemark: str, recipes: dict, older: bool = False):
        self.file, self.tidemark, self.older, self.found, self.given = file, tidemark, older, {}, set()
        self.recipes = recipes  # of each row; given: the rows that this process has answered
        self.texts = {recipe: self.digest(recipe) for recipe in recipes.values()}
        file.parent.mkdir(parents=True, exist_ok=True)
        for line in file.read_text().splitlines() if file.exists() else ():
            kept = json.loads(line)
            self.found.setdefault(kept["row"], {}).setdefault(kept["torch"], []).append(kept)

    @staticmethod
    def digest(recipe: Recipe) -> str:
        return hashlib.sha256("".join(file.read_text() for file in recipe.texts()).encode()).hexdigest()[:16]

    def recipe_of(self, row) -> str:
        """What decides an answer beside tidemark: the programs, the card with its options, and the packages."""
        recipe = self.recipes[row]
        asked = f"{self.texts[recipe]} {recipe.card(row)} {recipe.packages} {recipe.command([])}"
        return hashlib.sha256(asked.encode()).hexdigest()[:16]

    def add(self, row, torch: str, answer: dict) -> None:
        """A note comes after the answer that it belongs to."""
        kept = {"row": row.name, "torch": torch, "tidemark": self.tidemark, "recipe": self.recipe_of(row)} | answer
        self.found.setdefault(row.name, {}).setdefault(torch, []).append(kept)
        self.given.add(row)
        with open(self.file, "a") as out:
            out.write(json.dumps(kept) + "\n")

    def of(self, row, torch: str = ""):
        """The last answer to a row, from this build or, with `older`, from any; None if there is none."""
        recipe = self.recipe_of(row)
        kept = [one for version, list_ in self.found.get(row.name, {}).items() if torch in ("", version) for one in list_]
        kept = [one for one in kept if one["recipe"] == recipe and (self.older or one["tidemark"] == self.tidemark)]
        given = [at for at, one in enumerate(kept) if "value" in one or "failed" in one]
        if not given:
            return None
        merged = dict(kept[given[-1]])
        for note in kept[given[-1] + 1:]:
            merged |= note
        return merged

    def has(self, row, torch: str) -> bool:
        return self.of(row, torch) is not None
