#!/usr/bin/env python3
"""Compares what commands print with what a chapter of the guide shows.

    python3 scripts/chapter.py CHAPTER FOLDER

A block of the chapter that begins with ```text programs.sh: COMMAND, or with by hand: where CI lacks the program, shows what COMMAND
prints in FOLDER, 80 columns wide. Times of the
host are masked. With BLESS=1 the chapter is written anew. Exit 1: something differs.
"""

import os
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"(?m)^(```text (?:programs\.sh|by hand): (.+)\n)((?s:.*?))^```$")
HOST = re.compile(r"took \S+ \S+ \(host\)")


def masked(text):
    """Words of a text without the host's times, which change where lines break, too."""
    return HOST.sub("took (host)", " ".join(text.split()))


def printed(command, folder):
    """What a command prints."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"chapter.py: {command} ended with {done.returncode}")
    return done.stdout.strip("\n") + "\n"


def main():
    chapter, folder = pathlib.Path(sys.argv[1]), sys.argv[2]
    text = chapter.read_text(encoding="utf-8")
    wrong = []

    def block(found):
        out = printed(found[2], folder)
        if masked(out) == masked(found[3]):
            return found[0]
        wrong.append(f"{found[2]} prints\n{out}and the chapter shows\n{found[3]}")
        return f"{found[1]}{out}```"

    new, blocks = BLOCK.subn(block, text)
    if not blocks:
        sys.exit(f"chapter.py: {chapter} has no blocks to compare")
    if wrong and os.environ.get("BLESS"):
        chapter.write_text(new, encoding="utf-8")
    elif wrong:
        sys.exit("\n".join(wrong))
    print(f"{chapter}: {blocks} blocks as shown")


if __name__ == "__main__":
    main()
