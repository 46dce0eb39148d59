"""The one error a person causes and can mend.

Everything that goes wrong through input, configuration or the machine (a bad row, a missing key, a full disk) is raised
as `UserError` with a single line that says what is wrong, where, and what to do. The command line prints that line and
nothing else; a traceback needs `--debug`. Bugs stay ordinary exceptions.
"""


class UserError(Exception):
    """Something the person running the program can mend; the message is one clear line."""


class UsageError(UserError):
    """The call itself is wrong (an unknown option value, a blank question): exit code 2 instead of 1."""
