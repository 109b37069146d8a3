"""Renders templates.txt as transformers does and writes rendered.json: render.py, with transformers 5.19 installed.

Each line of templates.txt is a template, with ⏎ for a line break; expressions of a line are rendered one by one, too.
What is not a text there is the beginning of the error's name.
"""

import json
import pathlib
import re

from transformers.utils import chat_template_utils

HERE = pathlib.Path(__file__).parent
CONTEXT = {
    "m": {
        "role": "user", "content": "hello world", "n": 3, "f": 2.0, "big": 12345678901234567890, "null": None,
        "neg": -4, "exp": 1e21,
        "parts": [{"type": "text", "text": "a\"b"}, {"type": "image"}, {"type": "text", "text": "ü"}],
        "tool_calls": [{"id": "c1", "type": "function",
                        "function": {"name": "get", "arguments": {"z": 1, "a": ["x", 2.50, None, True]}}}],
    },
    "messages": [{"role": "user", "content": "hi"}],
}


def render(template):
    try:
        return chat_template_utils._cached_compile_jinja_template(template).render(**CONTEXT)
    except Exception as e:
        return {"error": type(e).__name__}


def main():
    cases = {}
    for line in (HERE / "templates.txt").read_text(encoding="utf-8").splitlines():
        line = line.replace("⏎", "\n")
        parts = re.findall(r"\{\{.*?\}\}(?!\})", line) if "{%" not in line else []
        for template in [line, *parts]:
            cases[template] = render(template)
    result = {"context": CONTEXT, "cases": [[t, want] for t, want in cases.items()]}
    (HERE / "rendered.json").write_text(json.dumps(result, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


main()
