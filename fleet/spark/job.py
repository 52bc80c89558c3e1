"""The Spark job. See `ccfleet/sparkjob.py`, whose functions run on executors, and ../README.md.

spark-submit fleet/spark/job.py --ccstat PATH --out URI LOGS…
"""

import sys
from pathlib import Path

# No cached code beside the sources.
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ccfleet.sparkjob import main

if __name__ == "__main__":
    sys.exit(main())
