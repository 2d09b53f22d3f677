"""Whisper of transformers with random weights: generates from 2 recordings of noise, 30 s each: whisper.py [N_TOKENS]

Without an end token that can be met a text has all its tokens: 1 to begin with and N_TOKENS. A drawn token may be one of time:
then the rest of a recording has a text of its own, and several are put together.
"""
import sys

import torch
from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration

n = int(sys.argv[1]) if len(sys.argv) > 1 else 24
config = WhisperConfig(d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=256,
                       decoder_ffn_dim=256, vocab_size=1000, decoder_start_token_id=1, pad_token_id=0, bos_token_id=1, eos_token_id=2)
model = WhisperForConditionalGeneration(config).cuda().eval()
model.generation_config = GenerationConfig(decoder_start_token_id=1, bos_token_id=1, pad_token_id=0, eos_token_id=2, max_new_tokens=n,
                                           no_timestamps_token_id=900, suppress_tokens=[5, 6], begin_suppress_tokens=[2])
features = torch.randn(2, 80, 3000).cuda()
for sampled in (False, True):
    tokens = model.generate(features, do_sample=sampled, max_new_tokens=n)
    print(f"{'sampled' if sampled else 'greedy'}: {tokens.shape[1]}")
print(f"suppressed: {int(((tokens == 5) | (tokens == 6)).sum())}")
print(f"peak allocated: {torch.cuda.max_memory_allocated()}")
