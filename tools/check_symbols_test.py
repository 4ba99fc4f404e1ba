#!/usr/bin/env python3
"""Tests of tools/check_symbols.sh with a made-up readelf."""

import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "check_symbols.sh"
LIST = """# a comment: LIBX_9
GLIBC_2.34
GCC_7.0.0
"""
# The output of readelf of binutils 2.40.
READELF = """#!/bin/sh
[ -e "$2" ] || exit 1
echo
echo "Version definition section '.gnu.version_d' contains 1 entry:"
echo ' Addr: 0x0000000000000550  Offset: 0x00000550  Link: 4 (.dynstr)'
echo '  000000: Rev: 1  Flags: BASE  Index: 1  Cnt: 1  Name: OWN_9.9'
echo
echo "Version needs section '.gnu.version_r' contains 1 entry:"
echo '  000000: Version: 1  File: libc.so.6  Cnt: 4'
while read -r name; do
  echo "  0x0010:   Name: $name  Flags: none  Version: 4"
done <"$2"
"""


class CheckSymbolsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        (self.directory / "list").write_text(LIST)
        readelf = self.directory / "readelf"
        readelf.write_text(READELF)
        readelf.chmod(0o755)

    def check(self, *needed):
        (self.directory / "program").write_text("".join(f"{version}\n" for version in needed))
        return self.run_on("program")

    def run_on(self, name):
        return subprocess.run(
            [str(TOOL), str(self.directory / "list"), str(self.directory / name)],
            capture_output=True, text=True, check=False,
            env={"PATH": f"{self.directory}:/usr/bin:/bin"})

    def test_older_versions_are_right(self):
        run = self.check("GLIBC_2.2.5", "GLIBC_2.4", "GLIBC_2.34", "GCC_3.3.1")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(self.check().returncode, 0)

    def test_newer_versions_are_named(self):
        for version in ("GLIBC_2.35", "GLIBC_2.100", "GLIBC_3", "GCC_12.0.0"):
            run = self.check("GLIBC_2.4", version)
            self.assertEqual(run.returncode, 1, version)
            self.assertIn(f"program needs {version}, and G", run.stderr)
            self.assertNotIn("2.4,", run.stderr)

    def test_versions_of_other_libraries_and_without_a_number_are_refused(self):
        for version in ("GLIBC_ABI_DT_RELR", "GLIBC_PRIVATE", "LIBX_9", "Base"):
            run = self.check(version)
            self.assertEqual(run.returncode, 1, version)
            self.assertIn(f"program needs {version}, ", run.stderr)

    def test_a_file_that_is_missing_is_a_fault(self):
        run = self.run_on("absent")
        self.assertEqual(run.returncode, 1)
        self.assertIn("can't read", run.stderr)


if __name__ == "__main__":
    unittest.main()
