"""XGBoost: three rounds on the card."""
import numpy as np
import xgboost

data = xgboost.DMatrix(np.random.rand(20000, 50).astype(np.float32), label=np.random.rand(20000))
booster = xgboost.train({"device": "cuda", "tree_method": "hist"}, data, num_boost_round=3)
print("rounds", booster.num_boosted_rounds())
