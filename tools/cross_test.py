#!/usr/bin/env python3
"""Tests of tools/cross without a root of another architecture."""

import os
import pathlib
import select
import subprocess
import sys
import unittest

CROSS = pathlib.Path(__file__).resolve().parent / "cross"
# Goes on as a command would, without the root.
COMMAND = """
import importlib.machinery, os, sys
cross = importlib.machinery.SourceFileLoader("cross", sys.argv[1]).load_module()
cross.enter_namespaces()
print(os.getpid(), flush=True)
os.execvp("sleep", ["sleep", "60"])
"""


@unittest.skipUnless(os.geteuid() == 0, "namespaces need root")
class CrossTest(unittest.TestCase):
    def test_a_command_ends_with_the_tool(self):
        tool = subprocess.Popen([sys.executable, "-B", "-W", "ignore", "-c", COMMAND, CROSS],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with tool:
            line = tool.stdout.readline()
            if not line and "unshare" in (said := tool.stderr.read()):
                self.skipTest(said)
            command = os.pidfd_open(int(line))
            try:
                tool.terminate()
                self.assertEqual(select.select([command], [], [], 30)[0], [command])
            finally:
                os.close(command)


if __name__ == "__main__":
    unittest.main()
