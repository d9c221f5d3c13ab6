"""What the tests of the servers share: the program, and folders with kernels."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
KERNELS = REPOSITORY / "examples" / "kernels"
SCHEMAS = REPOSITORY / "schemas"
ASSAY = os.environ.get("ASSAY", str(REPOSITORY / "target" / "debug" / "assay"))


@pytest.fixture
def assay() -> str:
    return ASSAY


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that may be read, beside one that may not."""
    folder = tmp_path / "root"
    folder.mkdir()
    for name in ("matmul_naive", "saxpy", "softmax"):
        shutil.copy(KERNELS / f"{name}.metal", folder)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.metal").write_text('#error "the secret"\nkernel void k() {}\n')
    (outside / "secret.h").write_text("int the_secret_word secret_value;\n")
    return folder
