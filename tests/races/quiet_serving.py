"""A server process as `kbstore serve` starts one, but for the notices: it sends none and hears
none, as if every one of them were lost.

`python -m tests.races.quiet_serving URL`
"""

import sys
from functools import partial
from unittest.mock import patch

from api import serving
from api.cli.common import print_json
from api.logs import configure_logs
from api.settings import Settings


def main() -> None:
    configure_logs("info")
    with patch.object(serving, "Settings", partial(Settings, has_notices=False)):
        serving.serve_database(sys.argv[1], "127.0.0.1", 0, lambda url: print_json({"url": url}))


if __name__ == "__main__":
    main()
