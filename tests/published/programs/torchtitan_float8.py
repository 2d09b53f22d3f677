"""torchtitan_train.py for rows with float8 products: torchtitan_float8.py CLONE ROWS"""
from torchao.float8 import ScalingType

import torchtitan_train

ScalingType.DELAYED = None  # a kind of scaling that torchao had in 2024, and that no row uses
if __name__ == "__main__":
    torchtitan_train.main()
