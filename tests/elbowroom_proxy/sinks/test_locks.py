"""Whether a file's writer is still there is known, however it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from elbowroom_proxy.sinks.locks import abandoned

HOLDER = """
import os, sys, time
from elbowroom_proxy.sinks.locks import lock
file = os.open(sys.argv[1], os.O_WRONLY)
print(lock(file), flush=True)
time.sleep(600)
"""


def test_a_file_is_abandoned_once_its_writer_was_killed(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with abandoned(path) as file:
            assert file is None
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    with abandoned(path) as file:
        assert file is not None
