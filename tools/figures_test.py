#!/usr/bin/env python3
"""Tests of tools/figures on made-up trees."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "figures"


def function(name, lines):
    return f"int {name}() {{\n" + "  Step();\n" * (lines - 2) + "}\n"


class FiguresTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(self.directory.cleanup)
        self.src = pathlib.Path(self.directory.name)
        self.write("room/own.h", "// A thing.\nint Own();\n")

    def write(self, path, text):
        file = self.src / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def figures(self, *options):
        run = subprocess.run([sys.executable, str(TOOL), *options, str(self.src)],
                             capture_output=True, text=True, check=False)
        self.status = run.returncode
        return run.stdout + run.stderr

    def test_sizes_are_counted_without_tests(self):
        self.write("room/a.cc", "// What it is.\n" + function("Long", 8))
        self.write("room/a_test.cc", function("Test", 18))
        out = self.figures()
        self.assertRegex(out, r"product files +2\n")
        self.assertRegex(out, r"median lines of a function +8\n")
        self.assertRegex(out, r"lines of tests for one of code +1\.64\n")
        self.assertRegex(out, r'"what" or "who" in comments +1\n')

    def test_a_header_begins_with_a_noun(self):
        self.write("room/b.h", "// What a thing is.\nint B();\n")
        self.write("room/c.h", "int C();\n")
        out = self.figures()
        self.assertRegex(out, r"headers that begin with no noun +1 of 3\n")
        self.assertRegex(out, r"headers without a comment +1\n")

    def test_a_function_has_at_most_sixty_lines(self):
        self.write("room/a.cc", function("Fits", 60) + function("Long", 61))
        self.write("room/a_test.cc", function("Test", 100))
        out = self.figures("--check")
        self.assertIn("room/a.cc: Long has 61 lines, of at most 60", out)
        self.assertNotIn("Fits", out)
        self.assertNotIn("Test", out)
        self.assertEqual(self.status, 1)
        self.assertIn("Long", self.figures())
        self.assertEqual(self.status, 0)

    def test_a_class_has_at_most_twelve_data_members(self):
        members = "".join(f"  int m{i}_ ABSL_GUARDED_BY(mutex_) = 0;\n" for i in range(13))
        self.write("room/a.h", f"// A.\nclass Full {{\n private:\n{members}}};\n"
                               "class Other {\n  static constexpr int kMost = 3;\n  int m_;\n};\n")
        self.assertIn("class Full has 13 data members, of at most 12", self.figures("--check"))
        self.assertEqual(self.status, 1)

    def test_constants_and_structs_of_data_have_no_limit(self):
        members = "".join(f"  int m{i} = 0;\n" for i in range(20))
        constants = "".join(f"  static constexpr int k{i} = 0;\n" for i in range(20))
        self.write("room/a.h", f"// A.\nstruct Data {{\n{members}  bool Has() const;\n}};\n"
                               f"class Few {{\n{constants}}};\n")
        self.assertNotIn("of at most", self.figures("--check"))
        self.assertEqual(self.status, 0)

    def test_a_struct_that_is_constructed_has_the_limits_of_a_class(self):
        members = "".join(f"  int m{i} = 0;\n" for i in range(13))
        self.write("room/a.h", f"// A.\nstruct Parts {{\n  explicit Parts(int first);\n{members}}};\n")
        self.assertIn("struct Parts has 13 data members, of at most 12", self.figures("--check"))
        self.assertEqual(self.status, 1)

    def test_overloads_are_member_functions_each(self):
        functions = "".join(f"  void Do({'int, ' * i}int last);\n" for i in range(46))
        self.write("room/a.h", f"// A.\nclass Wide {{\n{functions}}};\n")
        self.write("room/a.cc", "void Wide::Do(int last) {}\n")
        self.assertIn("class Wide has 46 member functions, of at most 45", self.figures("--check"))

    def test_a_directory_without_code_is_an_error(self):
        self.assertIn("no C++ file", subprocess.run(
            [sys.executable, str(TOOL), str(self.src / "none")], capture_output=True, text=True,
            check=False).stderr)


if __name__ == "__main__":
    unittest.main()
