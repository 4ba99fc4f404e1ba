#!/usr/bin/env python3
"""Tests of test_result.sh, and of vm.py's arguments for QEMU; nothing is booted."""

import pathlib
import subprocess
import tempfile
import unittest

import vm

RESULT = pathlib.Path(__file__).resolve().parents[2] / "cmake/test_result.sh"
LOG = """[ RUN      ] A.Passes
[       OK ] A.Passes (1 ms)
[ RUN      ] A.PassesAlso
its own line
[       OK ] A.PassesAlso (1 ms)
[ RUN      ] A.Skips
x.cc:1: Skipped
no such thing here
[  SKIPPED ] A.Skips (0 ms)
[ RUN      ] A.Fails
x.cc:2: Failure
[  FAILED  ] A.Fails (0 ms)
[ RUN      ] A.Dies
last words
suite_job: a ended with status 134
[ RUN      ] A.AfterIt
[       OK ] A.AfterIt (3 ms)
[  FAILED  ] A.Fails
"""


class ResultTest(unittest.TestCase):
    def result(self, test, log=LOG):
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-") as directory:
            path = pathlib.Path(directory) / "log"
            path.write_text(log)
            run = subprocess.run([RESULT, path, test], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout

    def test_shows_one_test_only(self):
        self.assertEqual(self.result("A.Passes"),
                         (0, "[ RUN      ] A.Passes\n[       OK ] A.Passes (1 ms)\n"))
        self.assertIn("its own line", self.result("A.PassesAlso")[1])

    def test_a_skip_is_no_failure_and_says_why(self):
        status, said = self.result("A.Skips")
        self.assertEqual(status, 0)
        self.assertIn("no such thing here", said)
        self.assertIn("[  SKIPPED ]", said)

    def test_failures(self):
        self.assertEqual(self.result("A.Fails")[0], 1)
        status, said = self.result("A.Dies")
        self.assertEqual(status, 1)
        self.assertIn("status 134", said)
        self.assertIn("did not end", said)
        self.assertNotIn("AfterIt", said)
        self.assertEqual(self.result("A.AfterIt")[0], 0)

    def test_what_did_not_run_failed(self):
        status, said = self.result("A.Never")
        self.assertEqual(status, 1)
        self.assertIn("not run", said)
        run = subprocess.run([RESULT, "/no/such/log", "A.B"], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("/no/such/log", run.stdout)


class CommandTest(unittest.TestCase):
    def command(self, **options):
        path = pathlib.Path("/x")
        given = vm.Options(kernel=path, images=path, results=path, job=path, **options)
        return " ".join(given.command(pathlib.Path("/work")))

    def test_two_nodes_of_four_cpus(self):
        command = self.command()
        self.assertIn("cpus=8,sockets=2,cores=2,threads=2", command)
        self.assertIn("cpu,node-id=1,socket-id=1", command)
        self.assertNotIn("slots", command)

    def test_room_for_hotplug_and_further_arguments(self):
        command = self.command(hotplug=True, append=["quiet2"], qemu=["-trace", "x"])
        self.assertIn("slots=4", command)
        self.assertIn("maxcpus=16", command)
        self.assertIn("cpu,node-id=1,socket-id=3", command)
        self.assertIn("quiet2 -trace x", command)


if __name__ == "__main__":
    unittest.main()
