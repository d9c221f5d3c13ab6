"""The reference's side of the protocol of `assay bench --reference`; docs/references.md describes it.

A reference is an object with

    name                                   what reports call it
    clock                                  "host", or "gpu" if times are a GPU's own
    prepare(call)                          gives something that can be run; raises Unsupported for what it cannot do
    run(prepared, times)                   runs it so often and waits for the last; gives seconds, all together
    outputs(prepared)                      the bytes of each output, in order

and `serve(reference)` answers until the other side closes the pipe.
"""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace


class Unsupported(Exception):
    """What a reference cannot do."""


class Argument(SimpleNamespace):
    """`name`, `role`, `dtype`, `shape`; inputs also have `file`."""

    def bytes(self):
        return Path(self.file).read_bytes()


class Call(SimpleNamespace):
    """`kernel`, `operation`, `dtype`, and all sizes and scalars by name in `values`."""

    def inputs(self):
        return [one for one in self.arguments if one.role == "input"]

    def outputs(self):
        return [one for one in self.arguments if one.role == "output"]


def read_call(message):
    values = dict(message["sizes"])
    values.update(message["scalars"])
    return Call(
        kernel=message["kernel"],
        operation=message["operation"],
        dtype=message["dtype"],
        values=SimpleNamespace(**values),
        arguments=[Argument(**one) for one in message["arguments"]],
    )


def answer(reference, prepared, message):
    what = message["do"]
    if what == "hello":
        return {"protocol": 1, "name": reference.name, "clock": reference.clock}
    if what == "prepare":
        prepared[message["set"]] = reference.prepare(read_call(message))
        return {}
    if what == "run":
        return {"seconds": reference.run(prepared[message["set"]], message["times"])}
    if what == "outputs":
        found = reference.outputs(prepared[message["set"]])
        for path, data in zip(message["files"], found, strict=True):
            Path(path).write_bytes(data)
        # Oracles may say how large the numbers were that went into each element.
        if message.get("scales") and hasattr(reference, "scales"):
            for path, data in zip(message["scales"], reference.scales(prepared[message["set"]]), strict=True):
                if data is not None:
                    Path(path).write_bytes(data)
        return {}
    if what == "forget":
        prepared.clear()
        return {}
    raise Unsupported(f"there is no request {what!r}")


def serve(reference):
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    prepared = {}
    for line in sys.stdin:
        try:
            reply = {"ok": True} | answer(reference, prepared, json.loads(line))
        except Unsupported as why:
            reply = {"ok": False, "unsupported": True, "why": str(why)}
        except Exception as why:  # whatever a library raises is an answer too
            reply = {"ok": False, "why": f"{type(why).__name__}: {why}"}
        print(json.dumps(reply), file=answers, flush=True)
