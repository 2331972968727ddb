"""One pair once more, by its seed: `python -m tests.noninterference.again SEED`."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.noninterference.pairs import Interference, house_in


def main(seed: int) -> int:
    """0 where the worlds cannot be told apart; else 1, and how they can be on standard output."""
    with TemporaryDirectory() as folder, house_in(Path(folder)) as house:
        try:
            house.compare(seed)
        except Interference as interference:
            sys.stdout.write(f"{interference}\n")
            return 1
    sys.stdout.write(f"The worlds of seed {seed} cannot be told apart.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
