"""`python -m api.cli`: the command line where the console script is not installed."""

from api.cli import main

main(prog_name="kbstore")
