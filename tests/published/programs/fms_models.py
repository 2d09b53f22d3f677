"""The models of fms_train.py, without their published weights: memory depends on sizes alone. They need flash_attn_of_torch.install()."""
import inspect
import sys
import types

import torch
import transformers
from transformers import AutoModelForCausalLM

# Of the published config.json; pad: the tokens that the tuning script adds, len: the tokenizer's length, to which it resizes the embedding.
MISTRAL = dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8, vocab_size=32000,
               rms_norm_eps=1e-5, max_position_embeddings=32768)
MODELS = {
    "santacoder": ("gpt_bigcode", 49158, 2048, dict(n_embd=2048, n_head=16, n_layer=24, n_inner=8192, n_positions=2048, vocab_size=49280)),
    "Mistral-7B": ("mistral", 32001, 4096, MISTRAL | dict(sliding_window=4096)),
    "Mixtral-8x7B": ("mixtral", 32001, 4096, MISTRAL | dict(num_local_experts=8, num_experts_per_tok=2, sliding_window=None)),
    "Llama-2-70": ("llama", 32001, 4096, dict(hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64,
                                               num_key_value_heads=8, vocab_size=32000, max_position_embeddings=4096)),
    "Meta-Llama-3-8B": ("llama", 128257, 4096, MISTRAL | dict(vocab_size=128256, max_position_embeddings=8192, rope_theta=500000.0)),
    "PowerLM-3b": ("granite", 49153, 4096, dict(hidden_size=2304, intermediate_size=9216, num_hidden_layers=40, num_attention_heads=36,
                                                 num_key_value_heads=36, vocab_size=49152, tie_word_embeddings=True, max_position_embeddings=4096,
                                                 attention_multiplier=0.015625, embedding_multiplier=12.0, residual_multiplier=0.22,
                                                 logits_scaling=9.0)),
}

FILES = {"Mistral-7B": 10e9, "Llama-2-70": 10e9, "santacoder": 1e12}  # bytes of weights in a file of the published model; others have 5 GB
GROUPS = {"Mixtral": -1, "Llama-2-70": -1}  # values that share a scale in the published GPTQ model; -1: a whole column


def empty_model(chosen: dict, dtype, resized: bool):
    """The model without memory, with its embedding resized or not; the size that it gets; and the tokens of a sequence."""
    kind, tokens, length, sizes = next(value for name, value in MODELS.items() if name in chosen["model_name_or_path"])
    config = transformers.AutoConfig.for_model(kind, **sizes, torch_dtype=dtype)
    config.architectures = [transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[kind]]
    if resized:
        config.vocab_size = tokens
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, torch_dtype=dtype, attn_implementation="flash_attention_2"), tokens, length


def build(chosen: dict, dtype, many: bool):
    """The model on the host, with pages that nothing touches; with bitsandbytes, quantised on the card, as from_pretrained does."""
    name = chosen["framework_config"]
    on_card = ("bnb" in name or "autogptq" in name) and not many
    model, tokens, length = empty_model(chosen, dtype, resized=not on_card)
    if "bnb" in name:
        quantise(model, chosen, dtype, many)
    elif "autogptq" in name:
        model = of_gptq(model, chosen, dtype, many)
    else:
        model.to_empty(device="cpu")
    model.tie_weights()
    if on_card:
        resize(model, tokens)
    return model, length


def resize(model, tokens: int) -> None:
    """The new rows are not drawn from the distribution of the old ones, which takes minutes on the host."""
    known = inspect.signature(model.resize_token_embeddings).parameters
    model.resize_token_embeddings(tokens, **({"mean_resizing": False} if "mean_resizing" in known else {}))


def in_order_of_files(model, chosen: dict) -> list:
    """The parameters as from_pretrained reads them: file by file, by name in a file. The order decides which blocks keep an unsplit rest."""
    limit = next((limit for name, limit in FILES.items() if name in chosen["model_name_or_path"]), 5e9)
    files, size = [[]], 0
    for name, empty in model.named_parameters():
        n_bytes = empty.numel() * 2
        if size + n_bytes > limit:
            files, size = [*files, []], 0
        files[-1].append((name, empty))
        size += n_bytes
    return [one for file in files for one in sorted(file, key=lambda one: one[0])]


def fill_buffers(model, device) -> None:
    for module in model.modules():
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.is_meta:
                module._buffers[name] = torch.empty_like(buffer, device=device)


def quantise(model, chosen: dict, dtype, many: bool) -> None:
    """bitsandbytes' nf4 with double quantisation, as the plugin accelerated-peft-bnb loads it. many: sharded, so it goes back to the host."""
    from transformers.quantizers import AutoHfQuantizer
    storage = {"bnb_4bit_quant_storage": dtype} if many else {}
    quantizer = AutoHfQuantizer.from_config(transformers.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype, **storage), pre_quantized=False)
    quantizer.update_torch_dtype(dtype)
    device = torch.device("cuda", torch.cuda.current_device())
    kept = torch.device("cpu") if many else device
    quantizer.preprocess_model(model=model, device_map={"": device}, keep_in_fp32_modules=[])
    for name, empty in in_order_of_files(model, chosen):
        module, leaf = model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]
        value = torch.empty(empty.shape, dtype=dtype)
        if quantizer.check_quantized_param(model, value, name, {}):
            quantizer.create_quantized_param(model, value, name, device, {}, [])
            if many:  # as from_pretrained for FSDP: the weight goes to the host (untouched pages here), its scales stay on the card
                made = module._parameters[leaf]
                host = torch.empty(made.shape, dtype=made.dtype)
                module._parameters[leaf] = type(made)(host, requires_grad=False, **made.__dict__)
        else:
            module._parameters[leaf] = torch.nn.Parameter(value.to(kept))
    fill_buffers(model, kept)
    model.tie_weights()
    quantizer.postprocess_model(model)
    model.hf_quantizer = quantizer


def import_unused_of_gptq() -> None:
    """What the plugin imports and uses only to quantise or to save a model."""
    if not hasattr(transformers.modeling_utils, "shard_checkpoint"):  # until 4.46
        transformers.modeling_utils.shard_checkpoint = None
    datasets = types.ModuleType("datasets")
    datasets.DatasetDict = datasets.IterableDatasetDict = datasets.load_dataset = None
    sys.modules.setdefault("datasets", datasets)


def of_gptq(model, chosen: dict, dtype, many: bool):
    """The plugin's GPTQ model, with the buffers of a 4-bit model of its group size; as its model_loader leaves it."""
    import_unused_of_gptq()
    from fms_acceleration_peft.autogptq_utils import register_tensors_as_parameters_patch_rule
    from fms_acceleration_peft.gptqmodel.models.auto import MODEL_MAP
    from fms_acceleration_peft.gptqmodel.nn_modules.qlinear.qlinear_tritonv2 import QuantLinear
    from fms_acceleration_peft.gptqmodel.quantization import QuantizeConfig
    from fms_acceleration_peft.gptqmodel.utils import Backend
    from fms_acceleration_peft.gptqmodel.utils.model import make_quant
    kind = MODEL_MAP[model.config.model_type]
    group = next((size for name, size in GROUPS.items() if name in chosen["model_name_or_path"]), 128)
    settings = QuantizeConfig(bits=4, group_size=group, desc_act=True)
    ends = tuple(end for ends in kind.layer_modules for end in ends)
    names = {name: module for name, module in model.named_modules() if isinstance(module, torch.nn.Linear) and name.endswith(ends)}
    with torch.device("meta"):
        made = make_quant(model, names, 4, group, backend=Backend.TRITON, format=settings.format, desc_act=True)
    device = torch.device("cpu") if many else torch.device("cuda", torch.cuda.current_device())
    for name, empty in sorted([*model.named_parameters(), *model.named_buffers()], key=lambda one: one[0]):
        module, leaf = model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]
        where = module._parameters if leaf in module._parameters else module._buffers
        value = torch.empty(empty.shape, dtype=empty.dtype, device=device)
        where[leaf] = torch.nn.Parameter(value) if where is module._parameters else value
    if many:
        register_tensors_as_parameters_patch_rule(target_module=QuantLinear, torch_dtype=dtype)
    model.eval()
    model.config.torch_dtype = dtype
    whole = kind(model, quantized=True, quantize_config=settings, qlinear_kernel=made)
    whole.is_loaded_in_4bit, whole.quantization_method = True, "gptq"
    return whole
