#!/usr/bin/env python3
"""Tests of tools/check_release.sh with made-up tools, and of what tools/in_root refuses."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
# Notes its call, makes the root that the real one makes, and fails where the test says so.
STUB = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
case "$(basename "$0") $*" in
  "packages.sh bookworm arm64") mkdir -p build/packages/bookworm-arm64/root ;;
  "$FAIL"*) exit 1 ;;
esac
"""
STUBS = ["tools/packages.sh", "tools/packages_twice.sh", "tools/in_root", "tools/cross", "tools/matrix",
         "tests/vm/packages.py", "tests/vm/suite.py", "tests/vm/kernel.sh", "tests/vm/root.sh",
         "bin/cmake", "bin/chroot"]


class CheckReleaseTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = pathlib.Path(directory.name)
        for name in STUBS:
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(STUB)
            path.chmod(0o755)
        shutil.copy(TOOLS / "check_release.sh", self.top / "tools")

    def run_steps(self, *steps, fail="none"):
        """The calls of the made-up tools, and what was said."""
        calls = self.top / "calls"
        calls.write_text("")
        run = subprocess.run([self.top / "tools/check_release.sh", *steps], capture_output=True, text=True,
                             check=False, env={**os.environ, "CALLS": str(calls), "FAIL": fail,
                                               "PATH": f"{self.top / 'bin'}:{os.environ['PATH']}"})
        return calls.read_text().splitlines(), run

    def test_packages_are_built_twice_and_their_life_is_that_of_the_built_ones(self):
        own = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                             check=True).stdout.strip()
        for dist in ("bookworm", "trixie"):
            calls, run = self.run_steps(dist)
            self.assertEqual(run.returncode, 0, run.stderr)
            # The check for missing parts comes before hours of building.
            self.assertEqual(calls[0], "kernel.sh ")
            self.assertEqual(calls[-2], f"packages_twice.sh {dist}")
            self.assertEqual(calls[-1], f"packages.py --build build/check --dist {dist} "
                             f"--packages build/packages/{dist}-{own}/result")

    def test_a_step_ends_with_its_first_failure_and_the_others_run(self):
        calls, run = self.run_steps("bookworm", "matrix", fail="packages_twice.sh")
        self.assertEqual(run.returncode, 1)
        self.assertNotIn("packages.py", " ".join(calls))
        self.assertIn("matrix --vm", calls)
        words = [line.split()[:2] for line in run.stdout.splitlines()]
        self.assertEqual(words, [["bookworm", "FAILED"], ["matrix", "passed"]])

    def test_suites_of_arm64_run_where_they_can(self):
        calls, run = self.run_steps("arm64")
        self.assertEqual(run.returncode, 0, run.stderr)
        run_there = [call for call in calls if "--qemu" in call]
        for suite in ("base", "resources", "topology", "image", "runtime_spec"):
            self.assertTrue(any(f"/{suite}_test" in call for call in run_there), suite)
        self.assertIn("--only linux_cgroup --only pods", calls[-1])
        self.assertEqual(calls[:2], ["kernel.sh arm64", "root.sh arm64"])
        self.assertEqual(calls.count("packages.sh trixie arm64"), 1)
        self.assertTrue(any("--target plimsoll-agent " in call for call in calls))

    def test_without_a_step_all_run_and_an_unknown_one_is_refused_before_any(self):
        self.assertEqual(len(self.run_steps()[1].stdout.splitlines()), 5)
        calls, run = self.run_steps("matrix", "trixi")
        self.assertEqual((run.returncode, calls), (1, []))
        self.assertIn("no step trixi: bookworm trixie suites arm64 matrix", run.stderr)


class InRootTest(unittest.TestCase):
    def test_other_releases_are_refused(self):
        for arguments in ((), ("sid",), ("make", "check")):
            run = subprocess.run([TOOLS / "in_root", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 1, run.stdout)
            self.assertIn("bookworm or trixie", run.stderr)


if __name__ == "__main__":
    unittest.main()
