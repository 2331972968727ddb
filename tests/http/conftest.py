"""A server on a free port of this machine, over a database of its own."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn

from api.app import create_app
from api.settings import Settings
from api.wiring import Services, open_services
from kbstore.access import Caller, dump_configuration, load_configuration
from kbstore.domain.commands import Configure
from kbstore.service import CommandRequest
from kbstore.store.commits import Origin
from kbstore.texts import prepare_text
from tests.http.world import CONFIGURATION, World
