"""Runs Kafka and ends it when the process that asked for it is gone, however that one ended.

Started as a script of its own with the command to run: standard library only. It writes the
command's process id on standard output and passes its output to standard error. The end of
standard input means stop: a pipe closes when its other end dies, even of SIGKILL.
"""

import os
import select
import signal
import subprocess
import sys
import threading

GRACE = 15.0
"""Seconds that Kafka gets to close its files before it is killed."""


def main(command: list[str]) -> int:
    """Run the command until it ends or we are told to stop; returns its exit code."""
    starter = os.getppid()
    # Ctrl-C in a terminal reaches us too; only the starter decides when to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    child = subprocess.Popen(  # noqa: S603 - the command our own starter built
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        stderr=sys.stderr,
        preexec_fn=_die_with_supervisor if sys.platform == "linux" else None,
    )
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    os.write(1, f"{child.pid}\n".encode())
    threading.Thread(target=_watch, args=(starter, child), daemon=True).start()
    return abs(child.wait())


def _watch(starter: int, child: "subprocess.Popen[bytes]") -> None:
    while True:
        readable, _, _ = select.select([0], [], [], 1.0)
        if readable and not os.read(0, 64):
            break
        # A process forked from the starter may hold the pipe open; its parent's id tells too.
        if os.getppid() != starter:
            break
    child.terminate()
    try:
        child.wait(GRACE)
    except subprocess.TimeoutExpired:
        child.kill()


def _die_with_supervisor() -> None:
    """On Linux, the kernel kills Kafka should this supervisor itself be killed."""
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
