"""A tokenizer made in memory and texts made of its words: no file and no network is needed."""
import random

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

CHAT = "{% for message in messages %}{{ message['content'] }} {% endfor %}"


def tokenizer(n_words):
    words = {"<pad>": 0, "<eos>": 1, "<unk>": 2} | {f"w{i}": i for i in range(3, n_words)}
    plain = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", chat_template=CHAT)


def text(n_tokens, n_words, seed):
    chosen = random.Random(seed)
    return " ".join(f"w{chosen.randrange(3, n_words)}" for _ in range(n_tokens))
