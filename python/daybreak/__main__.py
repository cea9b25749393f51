"""`python -m daybreak` is the program `daybreak`."""

from daybreak.cli import main

main()
