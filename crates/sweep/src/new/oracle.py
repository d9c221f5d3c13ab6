"""What is right, in double precision.

`oracle` is given what its parameters name: inputs as NumPy arrays, sizes and scalars as numbers. It gives the output, or
several in order, or a dictionary by name; there "y.scale" may hold what rounding errors of y are relative to (for a sum,
the sum of magnitudes), which is the magnitude of y otherwise.
"""

import numpy as np


def oracle(x):
    return np.maximum(x, 0)
