"""`python -m antiphon` is the command `antiphon`."""

from antiphon.cli import main

if __name__ == "__main__":
    main()
