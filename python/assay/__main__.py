"""``python -m assay`` is the program ``assay``."""

import sys

from ._command import main

sys.exit(main())
