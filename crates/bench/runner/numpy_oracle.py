"""The oracle of a kernel as a NumPy function: `python numpy_oracle.py FILE`, where FILE defines `oracle`.

The function is called with what its parameters name: inputs as arrays in double precision (indices as integers), sizes
and scalars as numbers. It gives the output, or outputs in order, or a dictionary by name; there `"y.scale"` may say how
large the numbers were that went into each element of `y`, which tolerances are relative to.
"""

import importlib.util
import inspect
import sys

import numpy as np

from assay_reference import serve

DTYPES = {"f64": np.float64, "u32": np.uint32, "i32": np.int32}


def load(path):
    spec = importlib.util.spec_from_file_location("oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.oracle


def array(argument):
    return np.frombuffer(argument.bytes(), DTYPES[argument.dtype]).reshape(argument.shape)


def named(call, result):
    names = [output.name for output in call.outputs()]
    if isinstance(result, dict):
        return result
    if not isinstance(result, (tuple, list)):
        result = [result]
    if len(result) != len(names):
        raise ValueError(f"oracle gave {len(result)} outputs where {len(names)} belong")
    return dict(zip(names, result))


def encode(values, shape, dtype):
    values = np.asarray(values)
    if list(values.shape) != list(shape):
        raise ValueError(f"oracle gave the shape {list(values.shape)} where {list(shape)} belongs")
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


class Oracle:
    clock = "host"

    def __init__(self, path):
        self.name = "oracle"
        self.function = load(path)

    def prepare(self, call):
        given = dict(vars(call.values)) | {one.name: array(one) for one in call.inputs()}
        parameters = inspect.signature(self.function).parameters.values()
        if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
            given = {one.name: given[one.name] for one in parameters if one.name in given}
        return call, named(call, self.function(**given))

    def outputs(self, prepared):
        call, found = prepared
        return [encode(found[one.name], one.shape, DTYPES[one.dtype]) for one in call.outputs()]

    def scales(self, prepared):
        call, found = prepared
        for one in call.outputs():
            scale = found.get(f"{one.name}.scale")
            yield None if scale is None else encode(scale, one.shape, np.float64)


if __name__ == "__main__":
    serve(Oracle(sys.argv[1]))
