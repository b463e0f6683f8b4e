"""`python -m sayso` is the `sayso` command."""

from sayso.cli.main import main

main()
