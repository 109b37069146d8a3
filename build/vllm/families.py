"""Makes tokenizers of three families with chat templates of their kinds: families.py FOLDER.

Each gets a folder that vLLM's render server and the sidecar read; there is no model. They are the same each time.
"""

import json
import pathlib
import sys
import sysconfig

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

VOCABULARY = 6000
WORLD = """\
Съешь же ещё этих мягких французских булок, да выпей чаю. Příliš žluťoučký kůň úpěl ďábelské ódy.
Zażółć gęślą jaźń. Ça coûte cher, où est la forêt? Ναι, η ταχεία αλεπού. いろはにほへと ちりぬるを 日本語の文章です。
我能吞下玻璃而不伤身体。 한국어 문장입니다. أنا قادر على أكل الزجاج. मैं काँच खा सकता हूँ। 👍🏽 👩‍👩‍👧 🇩🇪
"""


def texts(limit):
    """Text that is on every machine: Python's own library, and some of other scripts."""
    yield WORLD * 20
    for path in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        if limit <= 0:
            return
        text = path.read_text(encoding="utf-8", errors="ignore")
        limit -= len(text)
        yield text


def trained(pairs, trainer):
    pairs.train_from_iterator(texts(1_500_000), trainer)
    return pairs


def byte_level(special):
    return trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False,
                               initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def splits(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])


LLAMA_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
               r"|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA_CHAT = """\
{{- bos_token }}
{%- set first = namespace(user=true) %}
{%- if messages[0].role in ["system", "developer"] and messages[0].content is string %}
{%- set system = messages[0].content | trim %}{%- set rest = messages[1:] %}
{%- else %}{%- set system = "" %}{%- set rest = messages %}{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools %}{{- "Environment: ipython\\n" }}{%- endif %}
{{- "Cutting Knowledge Date: December 2023\\n\\n" + system + "<|eot_id|>" }}
{%- for message in rest %}
{%- if message.tool_calls %}
{%- set call = message.tool_calls[0].function %}
{{- "<|start_header_id|>assistant<|end_header_id|>\\n\\n" }}
{{- '{"name": "' ~ call.name ~ '", "parameters": ' }}{{ call.arguments | tojson }}{{- "}<|eot_id|>" }}
{%- elif message.role in ["tool", "ipython"] %}
{{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
{%- if message.content is mapping or message.content is iterable and message.content is not string %}
{{- message.content | tojson }}{%- else %}{{- message.content }}{%- endif %}{{- "<|eot_id|>" }}
{%- else %}
{{- "<|start_header_id|>" + message.role + "<|end_header_id|>\\n\\n" }}
{%- if tools and first.user and message.role == "user" %}
{%- set first.user = false %}
{{- "Given the following functions, answer with a call.\\n\\n" }}
{%- for tool in tools %}{{- tool | tojson(indent=4) }}{{- "\\n\\n" }}{%- endfor %}
{%- endif %}
{%- if message.content is string %}{{- message.content | trim }}
{%- else %}{%- for part in message.content or [] %}{%- if part.type == "text" %}{{- part.text | trim }}
{%- endif %}{%- endfor %}{%- endif %}{{- "<|eot_id|>" }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|start_header_id|>assistant<|end_header_id|>\\n\\n" }}{%- endif %}
"""


def llama(folder):
    """Bytes' pairs behind Llama 3's pattern, whole words before merges, and a token in front."""
    begin = "<|begin_of_text|>"
    special = [begin, "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    pairs = Tokenizer(models.BPE(ignore_merges=True))
    pairs.pre_tokenizer = splits(LLAMA_SPLIT)
    pairs.decoder = decoders.ByteLevel()
    trained(pairs, byte_level(special))
    pairs.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single=f"{begin} $A", pair=f"{begin} $A {begin}:1 $B:1",
                                      special_tokens=[(begin, pairs.token_to_id(begin))]),
    ])
    save(folder, pairs, LLAMA_CHAT, {"bos_token": begin, "eos_token": "<|eot_id|>"})


QWEN_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
              r"|\s+(?!\S)|\s+")
QWEN_CHAT = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(last=messages | length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages | length - 1) - loop.index0 %}
    {%- if message.role == "user" and ns.last == messages | length - 1 %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "user" or message.role == "system" and not loop.first or message.role == "developer" %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- if '</think>' in content %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and loop.last %}
            {{- '<|im_start|>assistant\\n<think>\\n\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>assistant\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for call in message.tool_calls %}
                {%- if loop.first and content or not loop.first %}{{- '\\n' }}{%- endif %}
                {%- set call = call.function if call.function else call %}
                {{- '<tool_call>\\n{"name": "' + call.name + '", "arguments": ' }}
                {%- if call.arguments is string %}{{- call.arguments }}{%- else %}{{- call.arguments | tojson }}{%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or messages[loop.index0 - 1].role != "tool" %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != "tool" %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
"""


def qwen(folder):
    """Bytes' pairs behind Qwen's pattern, of composed characters, digits one by one."""
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    pairs = Tokenizer(models.BPE())
    pairs.normalizer = normalizers.NFC()
    pairs.pre_tokenizer = splits(QWEN_SPLIT)
    pairs.post_processor = processors.ByteLevel(trim_offsets=False)
    pairs.decoder = decoders.ByteLevel()
    trained(pairs, byte_level(special))
    pairs.add_tokens(["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"])
    save(folder, pairs, QWEN_CHAT, {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"})


GEMMA_CHAT = """\
{{ bos_token }}
{%- if messages[0].role == 'system' -%}
    {%- if messages[0].content is string -%}{%- set prefix = messages[0].content + '\\n\\n' -%}
    {%- else -%}{%- set prefix = messages[0].content[0].text + '\\n\\n' -%}{%- endif -%}
    {%- set rest = messages[1:] -%}
{%- else -%}{%- set prefix = "" -%}{%- set rest = messages -%}{%- endif -%}
{%- for message in rest -%}
    {%- set role = "model" if message.role == "assistant" else message.role -%}
    {{ '<start_of_turn>' + role + '\\n' + (prefix if loop.first else "") }}
    {%- if message.content is string -%}{{ message.content | trim }}
    {%- elif message.content is iterable -%}
        {%- for item in message.content -%}
            {%- if item.type == 'image' -%}{{ '<start_of_image>' }}
            {%- elif item.type == 'text' -%}{{ item.text | trim }}{%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {%- for call in message.tool_calls or [] -%}
        {{ '[' ~ call.function.name ~ '(' }}
        {%- for key, value in call.function.arguments | items -%}
            {{ key ~ '=' ~ value | tojson }}{{ ', ' if not loop.last }}
        {%- endfor -%}{{ ')]' }}
    {%- endfor -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\\n' }}{%- endif -%}
"""


def gemma(folder):
    """Characters' pairs with spaces as a character, unknown ones as their bytes, and a token in front."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
    pairs = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    pairs.normalizer = normalizers.Replace(" ", "▁")
    # Training takes whole texts for one word without a split; what is trained so has no words' limits to keep.
    pairs.pre_tokenizer = pre_tokenizers.Split(Regex("▁?[^▁\n]+|\n+|▁+"), "isolated")
    trained(pairs, trainers.BpeTrainer(vocab_size=VOCABULARY, show_progress=False, limit_alphabet=400,
                                       special_tokens=[*special, *(f"<0x{b:02X}>" for b in range(256))]))
    pairs.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    pairs.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    pairs.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", pairs.token_to_id("<bos>"))])
    text = json.loads(pairs.to_str())
    # The bytes are no special tokens, and are not looked for in texts.
    text["added_tokens"] = [t for t in text["added_tokens"] if not t["content"].startswith("<0x")]
    save(folder, Tokenizer.from_str(json.dumps(text)), GEMMA_CHAT, {"bos_token": "<bos>", "eos_token": "<end_of_turn>",
                                                                    "unk_token": "<unk>", "pad_token": "<pad>"})


def save(folder, pairs, chat, names):
    folder.mkdir(parents=True, exist_ok=True)
    pairs.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(chat)
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 16384, "clean_up_tokenization_spaces": False,
         **names}, indent=1))
    (folder / "config.json").write_text(json.dumps(
        {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": pairs.get_vocab_size(),
         "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 2, "head_dim": 64, "max_position_embeddings": 16384, "dtype": "bfloat16"}, indent=1))


def main():
    folder = pathlib.Path(sys.argv[1])
    llama(folder / "llama")
    qwen(folder / "qwen")
    gemma(folder / "gemma")


main()
