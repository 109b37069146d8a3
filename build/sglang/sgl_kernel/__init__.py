"""Stands in for SGLang's kernels, which PyPI has for GPUs only.

Where its operations for processors are not registered SGLang imports the package but computes with torch alone; what it
imports fails when it is called. As there is no GPU that could read pinned memory, tensors that are to lie there stay
where they are.
"""

import functools

import torch


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def absent(*_, **__):
        raise NotImplementedError(f"sgl_kernel.{name}: not there without a GPU")

    return absent


def unpinned(make):
    @functools.wraps(make)
    def made(*arguments, pin_memory=False, **options):
        return make(*arguments, **options)

    return made


if not torch.cuda.is_available():
    for maker in ("arange", "empty", "full", "ones", "tensor", "zeros"):
        setattr(torch, maker, unpinned(getattr(torch, maker)))
    torch.Tensor.pin_memory = lambda self: self
