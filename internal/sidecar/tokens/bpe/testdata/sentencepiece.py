"""Makes tokenizers as SentencePiece's and writes them with the tokens of the strings in encoded.json: sentencepiece.py,
with tokenizers 0.23 installed."""

import json
import pathlib
import sysconfig

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
SPECIAL = ["<unk>", "<s>", "</s>"]
BLANK = "\u2581"
BYTES = [f"<0x{b:02X}>" for b in range(256)]


def corpus():
    stdlib = pathlib.Path(sysconfig.get_paths()["stdlib"])
    return [(stdlib / name).read_text(encoding="utf-8").replace(" ", BLANK) for name in ("textwrap.py", "heapq.py")]


def bpe(vocabulary, fallback):
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=SPECIAL,
                                                        show_progress=False, limit_alphabet=90))
    file = json.loads(t.to_str())
    if fallback:
        vocab = file["model"]["vocab"]
        for b in BYTES:
            vocab[b] = len(vocab)
    file["model"].update(byte_fallback=fallback, fuse_unk=True)
    return file


def unigram(fallback):
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=500, special_tokens=SPECIAL, unk_token="<unk>",
                                                            show_progress=False))
    file = json.loads(t.to_str())
    if fallback:
        file["model"]["vocab"] += [[b, -20.0] for b in BYTES]
        file["model"]["byte_fallback"] = True
    return file


def part(of):
    return json.loads(of.__getstate__())


def digest(ids):
    """FNV-1a of the ids as 32-bit numbers, as the test computes it."""
    h = 0xCBF29CE484222325
    for b in b"".join(i.to_bytes(4, "little") for i in ids):
        h = (h ^ b) * 0x100000001B3 % (1 << 64)
    return f"{h:016x}"


def main():
    replace = normalizers.Replace(" ", BLANK)
    begin = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
             {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
             "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}
    files = {
        # as Llama 2, Gemma, newer Llamas of transformers, and Unigrams with and without bytes
        "spm": {**bpe(600, True), "normalizer": part(normalizers.Sequence([normalizers.Prepend(BLANK), replace])),
                "pre_tokenizer": None, "post_processor": begin},
        "gemma": {**bpe(600, True), "normalizer": part(replace),
                  "pre_tokenizer": part(pre_tokenizers.Split(" ", "merged_with_previous"))},
        "metaspace": {**bpe(600, False), "pre_tokenizer": part(pre_tokenizers.Metaspace(prepend_scheme="first"))},
        "unigram": {**unigram(False), "normalizer": part(normalizers.NFKC()),
                    "pre_tokenizer": part(pre_tokenizers.Metaspace(prepend_scheme="always"))},
        "unigram_bytes": {**unigram(True), "pre_tokenizer": part(pre_tokenizers.Metaspace(prepend_scheme="first",
                                                                                         split=False))},
    }
    strings = json.loads((HERE / "encoded.json").read_text(encoding="utf-8"))["strings"]
    strings += ["<s>a <mark> b</s> c", " <mark>", "a\u2581b \u2581 c", "\u65e5\u672c </s>\u65e5", "x  y   z " * 400]
    result = {"strings": strings}
    for name, file in files.items():
        t = Tokenizer.from_str(json.dumps(file))
        t.add_tokens([AddedToken("<mark>", lstrip=True, rstrip=name != "unigram", normalized=name == "gemma")])
        text = json.dumps(json.loads(t.to_str()), ensure_ascii=False, separators=(",", ":"))
        (HERE / f"{name}.json").write_text(text, encoding="utf-8")
        result[name] = [[len(t.encode(s).ids), digest(t.encode(s, add_special_tokens=False).ids)] for s in strings]
    (HERE / "sentencepiece.json").write_text(json.dumps(result, indent=0) + "\n")


main()
