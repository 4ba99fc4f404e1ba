#!/usr/bin/env python3
"""Tests of tools/check_linking.sh with a made-up readelf."""

import pathlib
import re
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "check_linking.sh"
TOP = TOOL.parent.parent
LIST = """# a comment: with a colon
server: libc.so.6 libz.so.1
helper other: libc.so.6
static:
"""
# The output of readelf of binutils 2.40.
READELF = """#!/bin/sh
[ -e "$2" ] || exit 1
echo
echo 'Dynamic section at offset 0x1234 contains 30 entries:'
while read -r name; do
  echo " 0x0000000000000001 (NEEDED)             Shared library: [$name]"
done <"$2"
echo ' 0x000000000000000e (SONAME)             Library soname: [libx.so.1]'
"""


class CheckLinkingTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        (self.directory / "list").write_text(LIST)
        readelf = self.directory / "readelf"
        readelf.write_text(READELF)
        readelf.chmod(0o755)

    def check(self, name, needed, *flags):
        (self.directory / name).write_text("".join(f"{library}\n" for library in needed))
        return self.run_on(name, *flags)

    def run_on(self, name, *flags):
        return subprocess.run(
            [str(TOOL), *flags, str(self.directory / "list"), str(self.directory / name)],
            capture_output=True, text=True, check=False,
            env={"PATH": f"{self.directory}:/usr/bin:/bin"})

    def test_listed_libraries_are_right_and_need_not_all_be_there(self):
        for needed in (["libc.so.6", "libz.so.1"], ["libz.so.1"], [], ["ld-linux-x86-64.so.2"]):
            run = self.check("server", needed)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(self.check("other", ["libc.so.6"]).returncode, 0)

    def test_another_library_is_named_with_its_program(self):
        run = self.check("server", ["libc.so.6", "libabsl_base.so.20220623", "libz.so"])
        self.assertEqual(run.returncode, 1)
        self.assertIn("server needs libabsl_base.so.20220623", run.stderr)
        self.assertIn("server needs libz.so,", run.stderr)
        self.assertNotIn("libc.so.6", run.stderr)

    def test_a_program_has_its_own_line_only(self):
        self.assertEqual(self.check("helper", ["libz.so.1"]).returncode, 1)
        self.assertEqual(self.check("static", ["libc.so.6"]).returncode, 1)

    def test_further_libraries_can_be_allowed(self):
        self.assertEqual(self.check("server", ["libabsl_base.so.1"], "--and", "libabsl_.*").returncode, 0)
        self.assertEqual(self.check("server", ["xlibabsl_base.so.1"], "--and", "libabsl_.*").returncode, 1)

    def test_a_program_without_a_line_is_a_fault(self):
        run = self.check("serve", [])
        self.assertEqual(run.returncode, 1)
        self.assertIn("serve has no line", run.stderr)

    def test_a_program_that_is_missing_is_a_fault(self):
        run = self.run_on("server")
        self.assertEqual(run.returncode, 1)
        self.assertIn("can't read", run.stderr)

    def test_each_installed_program_has_a_line(self):
        names = re.sub(r"#.*", "", (TOP / "packaging/shared-libraries").read_text())
        names = {name for line in names.splitlines() for name in line.partition(":")[0].split()}
        for path in (TOP / "src").rglob("CMakeLists.txt"):
            for program in re.findall(r"install\(TARGETS ([a-z-]+)[ )]", path.read_text()):
                self.assertIn(program, names, path)


if __name__ == "__main__":
    unittest.main()
