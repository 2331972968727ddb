"""Every tool there is, in the order they are listed, and how a model uses each group."""

from api.tools.knowledge.activity import knowledge_activity
from api.tools.knowledge.listing import knowledge_list
from api.tools.knowledge.notes import knowledge_note
from api.tools.knowledge.pages import knowledge_page
from api.tools.knowledge.pins import knowledge_pin
from api.tools.knowledge.reading import knowledge_read
from api.tools.knowledge.search import knowledge_search
from api.tools.tool import Group, Tool

TOOLS: tuple[Tool, ...] = (
    knowledge_list,
    knowledge_search,
    knowledge_read,
    knowledge_activity,
    knowledge_page,
    knowledge_note,
    knowledge_pin,
)

TOOLS_BY_NAME = {tool.name: tool for tool in TOOLS}

INSTRUCTIONS: dict[Group, str] = {
    "read": (
        "Shared knowledge is kept as pages in scopes. Search it before you answer from memory, "
        "and read a page before you rely on it. Use knowledge_list to see how a scope or a "
        "section is organised. A long page comes back at a glance first: read on by section, or "
        "from a line. Whenever a result has `more`, it names what was left out and how to get "
        "it. Name the pages you used by their refs, and say so when nothing was found. Where "
        "two dated notes disagree, show both."
    ),
    "write": (
        "Put one durable fact into a note; put longer text into a page's body. Look for a page "
        "that fits before you create one. A fact that changed is a new note with its date, not "
        "an edit of the old one. Edit part of a long page by the range a read gave you, with "
        "the version you read as expectedVersion. When a write is refused because the page has "
        "changed, read the part again and apply your change to what is there now."
    ),
    "pins": (
        "A pin puts a page, or the list of pages under it, before every run that holds an "
        "audience scope, on every turn. Pin standing rules only, keep pinned pages short, and "
        "unpin what is out of date."
    ),
}
