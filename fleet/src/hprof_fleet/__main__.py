"""`python -m hprof_fleet`."""

import sys

from hprof_fleet.cli import main

sys.exit(main())
