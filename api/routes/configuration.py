"""The configuration: scopes, access rules and template pages."""

from typing import Literal, Self

from api.answers import Answer
from api.bodies import Body
from api.calls import Call
from api.operations import reads, writes
from api.parameters import AtRevision, Parameters
from api.reading import Found, State, read
from api.representations import ConfigurationRead, ConfigurationWritten
from api.write import Write
from api.writing import WriteRules
from api.written import configuration_read, configuration_written
from kbstore.access import dump_configuration, load_configuration
from kbstore.domain.commands import Configure
from kbstore.errors import (
    ConfigurationInvalidError,
    GrantMissingError,
)
from kbstore.texts import PreparedText, prepare_text
from projections.views import Json

TOML = "application/toml"


class ConfigurationBody(Body, frozen=True, kw_only=True):
    """A configuration as JSON; as TOML, its text."""

    is_open = True

    document: dict[str, Json] | str

    @classmethod
    def of(cls, value: Json) -> Self:
        if not isinstance(value, (dict, str)):
            raise ConfigurationInvalidError("A configuration is a table.", path="", reason="type")
        return cls(document=value)


@reads(
    "readConfiguration",
    "/configuration",
    "Read the configuration",
    parameters=AtRevision,
    answer=ConfigurationRead,
    errors=(GrantMissingError,),
)
async def read_configuration(call: Call, given: AtRevision) -> Answer:
    if not (call.caller.is_admin or call.caller.is_auditor):
        raise GrantMissingError(
            "Reading the configuration needs a key with the grant admin or auditor.",
            grant="admin",
        )

    def query(state: State) -> Found:
        view = configuration_read(state)
        return Found(view, view.version)

    return await read(call, given, query, is_long=True)


def require_admin(call: Call) -> None:
    """Passes a key with the grant `admin`; raises GrantMissingError in the words of the rules."""
    if not call.caller.is_admin:
        raise GrantMissingError("Configuring needs a key with the grant admin.", grant="admin")


@writes(
    "replaceConfiguration",
    "PUT",
    "/configuration",
    "Replace the configuration, as JSON or TOML",
    parameters=Parameters,
    body=ConfigurationBody,
    answer=ConfigurationWritten,
    rules=WriteRules(
        admit=require_admin,
        is_conditional=True,
        body_types=("application/json", TOML),
        render=configuration_written,
    ),
    errors=(GrantMissingError, ConfigurationInvalidError),
)
async def replace_configuration(
    write: Write, given: Parameters, body: ConfigurationBody
) -> Configure:
    """The text is checked as it was sent: a name that stands twice is refused there."""
    text = write.raw.decode("utf-8")
    form: Literal["toml", "json"] = "toml" if isinstance(body.document, str) else "json"

    def prepare() -> PreparedText:
        loaded = load_configuration(text, form)
        return prepare_text(dump_configuration(loaded), write.ids)

    configuration = await write.call.server.pool.run(prepare)
    return Configure(configuration=configuration, expected_revision=write.expected)


OPERATIONS = (read_configuration, replace_configuration)
