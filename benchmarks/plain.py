"""The baseline of reads over HTTP: a Litestar route that returns a Struct, and no store at all.

`python -m benchmarks.plain PORT` serves `/page` with the settings of the store's server; the
Struct has the fields of a page read and a body of 4 KiB.
"""

import sys

import uvicorn
from litestar import Litestar, get
from msgspec import UNSET

from api.representations import PageRead
from api.serving import BACKLOG_CONNECTIONS
from benchmarks.large import large_body
from benchmarks.processes import HOST
from benchmarks.writing import Writer
from kbstore.clock import format_time
from kbstore.domain.events import NIL
from projections.views import PageView

_TIME = format_time(0)


def create_plain_app() -> Litestar:
    page = PageView(
        id=NIL,
        ref="org:acme#section-0/page-0",
        scope="org:acme",
        key="page-0",
        name="Page 0",
        description=None,
        version=10,
        parent=NIL,
        path="section-0/page-0",
        body=large_body(Writer(0)),
        frontmatter=None,
        created_at=_TIME,
        updated_at=_TIME,
        updated_by="user:bench",
        frontmatter_error=UNSET,
    )

    @get("/page", sync_to_thread=False)
    def read_page() -> PageRead:
        return PageRead(revision=1, page=page)

    return Litestar([read_page], openapi_config=None, logging_config=None)


def main() -> None:
    uvicorn.run(
        create_plain_app(),
        host=HOST,
        port=int(sys.argv[1]),
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG_CONNECTIONS,
    )


if __name__ == "__main__":
    main()
