"""Texts and what can be known of them, without any I/O.

Cleaning of what comes in (`normalise`), lines and ranges (`lines`), the token estimate
(`tokens`), folding for search (`fold`), the one analysis of a body (`analysis`, over
`frontmatter`, `markdown`, `outline`, `passages` and `links`), and differences and merges
(`diff`, over `matching`). Every surface uses these, so line numbers and sizes agree. The names
below may be imported from here; the package itself imports only `kbstore.errors` and
`kbstore.limits`.
"""

from kbstore.text.analysis import Analysis, analyse, outline_of
from kbstore.text.diff import merge_lines, unified_diff
from kbstore.text.fold import fold
from kbstore.text.frontmatter import FrontMatter, split_front_matter
from kbstore.text.lines import (
    LineRange,
    Position,
    check_range,
    count_lines,
    replace_range,
    split_lines,
    text_of_range,
)
from kbstore.text.links import Link, extract_links
from kbstore.text.normalise import (
    clean_body,
    clean_description,
    clean_key,
    clean_name,
    clean_note_text,
    clean_text,
    fold_key,
)
from kbstore.text.outline import Heading
from kbstore.text.passages import Passage
from kbstore.text.tokens import estimate_tokens

__all__ = [
    "Analysis",
    "FrontMatter",
    "Heading",
    "LineRange",
    "Link",
    "Passage",
    "Position",
    "analyse",
    "check_range",
    "clean_body",
    "clean_description",
    "clean_key",
    "clean_name",
    "clean_note_text",
    "clean_text",
    "count_lines",
    "estimate_tokens",
    "extract_links",
    "fold",
    "fold_key",
    "merge_lines",
    "outline_of",
    "replace_range",
    "split_front_matter",
    "split_lines",
    "text_of_range",
    "unified_diff",
]
