"""Errors of the demo, each saying what an operator does about it."""


class DemoFailed(Exception):
    """The demo could not be played to its end. The message is one sentence that names the mend.

    Look into the worker's log in the data folder; with leftovers of an older build in the folder,
    run it again with `--fresh`.
    """
