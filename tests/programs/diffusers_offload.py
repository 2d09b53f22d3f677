"""diffusers: a pipeline of random weights, its models offloaded to the host (enable_model_cpu_offload)."""
import sys

import torch
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel

torch.manual_seed(0)
unet = UNet2DConditionModel(sample_size=64, block_out_channels=(320, 640), layers_per_block=2, cross_attention_dim=768,
                            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
vae = AutoencoderKL(block_out_channels=(128, 256), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                    latent_channels=4, sample_size=512)
text = CLIPTextModel(CLIPTextConfig(hidden_size=768, num_hidden_layers=4, num_attention_heads=12))
pipe = StableDiffusionPipeline(vae=vae, text_encoder=text, tokenizer=None, unet=unet, scheduler=DDIMScheduler(), safety_checker=None,
                               feature_extractor=None, requires_safety_checker=False).to(torch.float16)
if "plain" in sys.argv:
    pipe.to("cuda")
elif "sequential" in sys.argv:
    pipe.enable_sequential_cpu_offload()
else:
    pipe.enable_model_cpu_offload()
pipe.set_progress_bar_config(disable=True)
given = torch.randn(1, 77, 768, dtype=torch.float16)
images = pipe(prompt_embeds=given, negative_prompt_embeds=given, num_inference_steps=2, height=512, width=512, output_type="pt").images
print("images", tuple(images.shape), torch.cuda.max_memory_allocated() >> 20, "MiB", flush=True)
