#!/usr/bin/env python3
"""Tests of tools/run_tests.sh with a made-up ctest."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "run_tests.sh"
CTEST = """#!/bin/bash
cat <<END
Test project /x
      Start 1: base: A.Passes
1/2 Test #1: base: A.Passes ..........   Passed    0.01 sec
2/2 Test #2: linux: B.Skips ..........***Skipped   0.01 sec

100% tests passed, 0 tests failed out of 2

Label Time Summary:
slow    =  12.00 sec*proc (1 test)
unit    =   0.02 sec*proc (2 tests)

Total Test time (real) =   0.03 sec

The following tests did not run:
\t  2 - linux: B.Skips (Skipped)
${CTEST_FAILURES:-}
END
echo "$*" >args
exit ${CTEST_EXIT:-0}
"""
LOG = """1/2 Testing: base: A.Passes
1/2 Test: base: A.Passes
[       OK ] A.Passes (0 ms)
2/2 Testing: linux: B.Skips
2/2 Test: linux: B.Skips
[ RUN      ] B.Skips
/x/src/linux/b_test.cc:7: Skipped
no resctrl
is mounted here

[  SKIPPED ] B.Skips (0 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] B.Skips
<end of output>
3/4 Test: runtime: all
Output:
/x/runtime_test ended with status 139
<end of output>
Test Failed.
"""


class RunTestsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for path, text in {"bin/ctest": CTEST, "tests/budgets": "# s\nunit 10\nslow 5\n",
                           "build/dev/Testing/Temporary/LastTest.log": LOG}.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        (self.root / "bin/ctest").chmod(0o755)
        (self.root / "tools").mkdir()
        shutil.copy(TOOL, self.root / "tools")

    def run_tests(self, *arguments, **environment):
        return subprocess.run(
            [str(self.root / "tools/run_tests.sh"), *arguments], capture_output=True, text=True,
            check=False, env={"PATH": f"{self.root}/bin:/usr/bin:/bin", **environment})

    def test_reasons_and_budgets_come_before_ctests_last_words(self):
        run = self.run_tests("dev", "-L", "unit")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        lines = run.stdout.splitlines()
        self.assertIn("\t  2 - linux: B.Skips (Skipped)", lines)
        self.assertIn("  linux: B.Skips: no resctrl is mounted here", lines)
        self.assertLess(lines.index("Skipped, and why:"),
                        lines.index("100% tests passed, 0 tests failed out of 2"))
        self.assertIn("1/2 Test #1: base: A.Passes ... Passed    0.01 sec", lines)
        self.assertFalse(any("Start 1" in line for line in lines))
        self.assertEqual((self.root / "args").read_text(), "--preset dev --no-tests=error -L unit\n")

    def test_a_suite_over_its_budget_is_marked(self):
        lines = self.run_tests("dev").stdout.splitlines()
        self.assertTrue(any("slow" in line and "OVER BUDGET" in line for line in lines), lines)
        self.assertFalse(any("unit" in line and "OVER BUDGET" in line for line in lines), lines)

    def test_a_suite_that_broke_off_is_explained_last(self):
        failures = ("The following tests FAILED:\n\t3 - runtime: A.B (Not Run)\n"
                    "\t4 - runtime: A.C (Not Run)\n\t5 - runtime: all (Failed)")
        lines = self.run_tests("dev", CTEST_EXIT="8", CTEST_FAILURES=failures).stdout.splitlines()
        self.assertFalse(any("Not Run" in line for line in lines), lines)
        self.assertIn("\t2 more were not run", lines)
        self.assertEqual(lines[-1], "/x/runtime_test ended with status 139")

    def test_ctests_exit_code_is_kept(self):
        self.assertEqual(self.run_tests("dev", CTEST_EXIT="8").returncode, 8)


if __name__ == "__main__":
    unittest.main()
