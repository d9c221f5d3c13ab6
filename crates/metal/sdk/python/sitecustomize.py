"""Lets Python programs that reach Metal through ctypes find the Metal of this folder: on PYTHONPATH, Python imports it at its start."""

import ctypes
import ctypes.util
import os
import platform

_LIBRARIES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib")
_NAMES = frozenset(
    name[len("lib") : -len(".so")] for name in os.listdir(_LIBRARIES) if name.startswith("lib") and name.endswith(".so")
)


def _here(name):
    """The shared object that answers to a library's name or to a path of macOS; None for any other library."""
    if not isinstance(name, str):
        return None
    stem = os.path.basename(name).split(".")[0].removeprefix("lib")
    is_apples = name.startswith(("/usr/lib/", "/System/Library/")) and not os.path.exists(name)
    if name in _NAMES or (is_apples and (stem in _NAMES or stem == "System")):
        return os.path.join(_LIBRARIES, "libobjc.so")
    return None


_find_library = ctypes.util.find_library
_init = ctypes.CDLL.__init__


def find_library(name):
    return _here(name) or _find_library(name)


def init(self, name, *arguments, **options):
    _init(self, _here(name) or name, *arguments, **options)


ctypes.util.find_library = find_library
ctypes.CDLL.__init__ = init
platform.mac_ver = lambda *_, **__: ("15.5", ("", "", ""), "arm64")
