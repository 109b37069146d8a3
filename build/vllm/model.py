"""Makes a small Llama with random weights, a tokenizer and two LoRA adapters: model.py FOLDER.

What it writes means nothing, but tokens, chat template, KV cache and adapters are real. It is the same each time.
"""

import json
import pathlib
import sys
import sysconfig

import safetensors.torch
import tokenizers
import torch
import transformers

VOCABULARY, HIDDEN, LAYERS, HEAD, CONTEXT, RANK = 4096, 128, 2, 64, 16384, 8
PAD, BEGIN, END = "<|pad|>", "<|begin|>", "<|end|>"
ROLES = ["<|system|>", "<|user|>", "<|assistant|>", "<|tool|>"]
CHAT = """\
{{- bos_token -}}
{%- if tools -%}<|system|>{{ tools | tojson }}
{% endif -%}
{%- for message in messages -%}
<|{{ message.role }}|>
{%- if message.content is string -%}{{ message.content }}
{%- else -%}{%- for part in message.content or [] if part.type == "text" -%}{{ part.text }}{%- endfor -%}
{%- endif -%}
{%- if message.tool_calls -%}{{ message.tool_calls | tojson }}{%- endif %}
{% endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
"""


def texts(limit):
    """Text that is on every machine: Python's own library."""
    for path in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        if limit <= 0:
            return
        text = path.read_text(encoding="utf-8", errors="ignore")
        limit -= len(text)
        yield text


def make_tokenizer(folder):
    pairs = tokenizers.Tokenizer(tokenizers.models.BPE())
    pairs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    pairs.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, BEGIN, END, *ROLES],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pairs.train_from_iterator(texts(3_000_000), trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=pairs, pad_token=PAD, bos_token=BEGIN, eos_token=END, model_max_length=CONTEXT
    )
    fast.chat_template = CHAT
    fast.save_pretrained(folder)


def make_model(folder):
    torch.manual_seed(1)
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HIDDEN // HEAD,
        num_key_value_heads=HIDDEN // HEAD,
        head_dim=HEAD,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        dtype="bfloat16",
        **ids,
    )
    transformers.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    transformers.GenerationConfig(**ids).save_pretrained(folder)


def make_adapter(folder, base, seed):
    folder.mkdir(parents=True, exist_ok=True)
    chance = torch.Generator().manual_seed(seed)
    weights = {}
    for layer in range(LAYERS):
        for target in ("q_proj", "v_proj"):
            name = f"base_model.model.model.layers.{layer}.self_attn.{target}"
            weights[f"{name}.lora_A.weight"] = torch.randn(RANK, HIDDEN, generator=chance).to(torch.bfloat16)
            weights[f"{name}.lora_B.weight"] = torch.randn(HIDDEN, RANK, generator=chance).to(torch.bfloat16)
    safetensors.torch.save_file(weights, folder / "adapter_model.safetensors")
    config = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": str(base), "inference_mode": True,
        "r": RANK, "lora_alpha": RANK, "lora_dropout": 0.0, "bias": "none", "target_modules": ["q_proj", "v_proj"],
    }
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=1))


def main():
    folder = pathlib.Path(sys.argv[1])
    make_tokenizer(folder / "base")
    make_model(folder / "base")
    for i in (1, 2):
        make_adapter(folder / f"adapter-{i}", folder / "base", seed=i)


main()
