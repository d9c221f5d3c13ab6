"""A clang for source: the one the program would find, or that of the package ``ziglang`` beside this one."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys


@functools.cache
def provide() -> None:
    """Names ziglang's clang where no other is on the path. A notebook's interpreter is mostly not on the path, so the
    program alone would not find it."""
    if os.environ.get("ASSAY_CLANG") or _on_path():
        return
    if importlib.util.find_spec("ziglang") is not None and " " not in sys.executable:
        os.environ["ASSAY_CLANG"] = f"{sys.executable} -m ziglang clang"


def _on_path() -> bool:
    for folder in os.get_exec_path():
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        if any(re.fullmatch(r"clang(-\d+)?", name) for name in names):
            return True
    return os.path.exists("/Library/Developer/CommandLineTools/usr/bin/clang")
