"""fms_train.py with a model of experts, of the table that has them: fms_moe.py ROWS"""
import fms_train
from fms_models import MODELS

# Sizes of the paper of Granite 3.0.
MODELS["granite-3.0-3b-a800m"] = ("granitemoe", 49156, 4096, dict(
    hidden_size=1536, intermediate_size=512, num_hidden_layers=32, num_attention_heads=24, num_key_value_heads=8, num_local_experts=40,
    num_experts_per_tok=8, vocab_size=49155, tie_word_embeddings=True, max_position_embeddings=4096))


def not_here(chosen: dict) -> str:
    """Why a configuration cannot be run, or "". """
    if "scattermoe" in chosen["framework_config"]:
        return "scattermoe's buffers depend on the tokens that each expert gets, which are values"
    known = any(name in chosen["model_name_or_path"] for name in MODELS)
    return "" if known else "the model's sizes are only in its file, which is not published here"


fms_train.not_here = not_here
if __name__ == "__main__":
    fms_train.main()
