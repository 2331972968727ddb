"""What every test runs under: a far time zone, no outside configuration, no deadlines."""

import os
import time

from hypothesis import HealthCheck, settings

# 14 hours ahead of UTC, so that a local time taken for UTC shows at once. The POSIX form needs
# no time zone data.
os.environ["TZ"] = "<+14>-14"
time.tzset()

for _name in [name for name in os.environ if name.startswith("KBSTORE_")]:
    del os.environ[_name]

# No deadline: a busy machine is not a defect of the code.
settings.register_profile(
    "kbstore", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("kbstore")
