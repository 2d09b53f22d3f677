"""AutoBatch of YOLOv5 and YOLOv8: reserved memory by batch."""
import re

from recipe import Recipe
from rows import Row

PLAIN = ("numpy==1.26.4", "pandas==2.2.3", "pytz", "python-dateutil", "tzdata", "six", "psutil", "pyyaml", "requests", "certifi", "charset-normalizer", "idna",
         "urllib3", "tqdm", "matplotlib==3.9.4", "contourpy", "cycler", "fonttools", "kiwisolver", "packaging", "pyparsing", "pillow==11.3.0",
         "seaborn==0.13.2", "scipy==1.15.3", "opencv-python-headless==4.11.0.86", "torchvision==0.23.0", "thop==0.1.1.post2209072238")


class AutoBatch(Recipe):
    name = "yolo"
    packages = ("--no-deps", "yolov5==6.2.3", "ultralytics==8.0.50", *PLAIN)

    def matches(self, row: Row) -> bool:
        return "ultralytics" in row.source.lower() and re.match(r"yolov[58]", row.program) is not None and "batch" in row.config

    def group(self, row: Row):
        return row.card, row.program, re.sub(r"batch \d+", "", row.config)

    def card(self, row: Row) -> tuple:
        return (f"virtual:{row.card}", "--stacks", "none")

    def torch(self, row: Row) -> str:
        return "2.8"

    def command(self, group: list) -> list:
        return ["yolo.py", "{rows}"]

    def key(self, row: Row) -> str:
        return f"{row.program} {row.config}"

    def same_program(self, row: Row):
        return "cuDNN 9 instead of 8: other work areas"

    def reason(self, row: Row, answer: dict) -> str:
        return "probably cuDNN's work areas"


RECIPES = [AutoBatch()]
