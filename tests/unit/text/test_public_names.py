"""The package exports what it says."""

from kbstore import text


def test_every_public_name_is_there_once_and_sorted() -> None:
    assert text.__all__ == sorted(set(text.__all__), key=lambda n: (n.islower(), n))
    assert all(hasattr(text, name) for name in text.__all__)
