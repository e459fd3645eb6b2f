"""Keeps hooks out of the way of tools that look inside functions: cloudpickle, torch.compile.

May use the context, `install` and `redirect`. Knows those tools, and no library's phases.
"""
