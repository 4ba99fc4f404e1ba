#!/usr/bin/env python3
"""Tests of tools/figures on made-up trees."""

import importlib.machinery
import importlib.util
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

    def test_a_folder_has_at_most_sixty_product_files(self):
        for i in range(61):
            self.write(f"many/a{i}.cc", "")
        for i in range(60):
            self.write(f"few/a{i}.cc", "")
        self.write("few/a_test.cc", "")
        self.write("few/below/a.cc", "")
        out = self.figures()
        self.assertRegex(out, r"folders over 60 product files +1\n")
        self.assertRegex(out, r"product lines +2\n")

    def test_a_header_with_a_single_user_in_its_room(self):
        self.write("room/own.cc", '#include "room/own.h"\n')
        self.write("room/own_test.cc", '#include "room/own.h"\n')
        self.write("room/user.cc", '#include "room/own.h"\n#include "room/far.h"\n')
        self.write("room/far.h", "// A.\n")
        self.write("other/user.cc", '#include "room/far.h"\n')
        self.write("other/lone.h", "// A.\n")
        self.write("third/user.cc", '#include "other/lone.h"\n')
        self.assertRegex(self.figures(), r"headers with a single user, in their room +1\n")

    def test_a_type_is_defined_in_one_header(self):
        self.write("a/a.h", "// A.\nnamespace a {\nclass Twice {};\nclass Once;\n"
                            "using Also = int;\nstruct Outer {\n  struct Inner {};\n};\n"
                            "}  // namespace a\n")
        self.write("b/b.h", "// A.\nnamespace b {\nstruct Twice {};\nclass Once {};\n"
                            "enum class Also { kA };\nstruct Other {\n  struct Inner {};\n};\n"
                            "}  // namespace b\n")
        self.write("b/b.cc", "namespace b {\nclass Once {};\n}  // namespace b\n")
        self.assertRegex(self.figures(), r"type names in two headers +2\n")

    def test_words_of_comments_strings_and_types(self):
        self.write("room/a.cc", "// As the kernel does.\n// Its length: it is\n// told.\n"
                                'const char* text = "it has "\n    "gone";  // Of use.\n')
        self.write("room/a_test.cc", "// As in a test.\n")
        self.write("agent/a.h", "// A.\nclass PlaceBook;\nclass CpuPlaces {};\nclass Placed {};\n")
        self.write("agent/api/a.h", "// A.\nclass ConnectionPlaces {};\n")
        out = self.figures()
        self.assertRegex(out, r"comment lines that begin with Of, As, What, Those, Its +3\n")
        self.assertRegex(out, r"refused phrases in comments and strings +2\n")
        self.assertRegex(out, r'types of CPUs, memory or devices named "Place" +1\n')

    def test_a_struct_passed_between_rooms_has_no_function(self):
        self.write("a/hooks.h", "// A.\nusing Call = std::function<void()>;\n"
                                "struct Hooks {\n  std::function<int()> a;\n};\n"
                                "struct Calls {\n  Call call;\n};\nstruct Data {\n  int a;\n};\n"
                                "class Object {\n  std::function<int()> a_;\n  struct Own {\n"
                                "    std::function<int()> a;\n  };\n};\n")
        self.write("a/inner.h", "// A.\nstruct Inner {\n  std::function<int()> a;\n};\n")
        self.write("a/a.cc", '#include "a/hooks.h"\n#include "a/inner.h"\n')
        self.assertRegex(self.figures(), r"structs with functions passed between rooms +0\n")
        self.write("b/b.cc", '#include "a/hooks.h"\n')
        self.assertRegex(self.figures(), r"structs with functions passed between rooms +2\n")

    def test_a_bundle_counts_as_its_owners_members(self):
        def parts(name, field):
            fields = "".join(f"  {field} m{i};\n" for i in range(12))
            return f"struct {name} {{\n{fields}}};\n"
        self.write("a/a.h", "// A.\nnamespace a {\n" + parts("Parts", "Thing&") +
                   parts("Data", "int") + parts("Texts", "const char*") +
                   "class Bundled {\n  Parts parts_;\n  int own_;\n};\n"
                   "class Fits {\n  Parts* parts_;\n};\n"
                   "class Plain {\n  Data data_;\n  Texts texts_;\n  int own_;\n};\n"
                   "}  // namespace a\n")
        out = self.figures("--check")
        self.assertRegex(out, r"classes over the limit with their bundles +1\n")
        self.assertEqual(self.status, 0)

    def test_decisions_beside_the_directory(self):
        self.write("src/room/a.cc", "int a;\n")
        self.assertNotIn("decisions", self.figures())
        self.write("docs/decisions.md", "# Decisions\n\n**One** is\nthis.\n\n**Two**\n")
        self.src = self.src / "src"
        out = self.figures()
        self.assertRegex(out, r"entries of decisions.md +2\n")
        self.assertRegex(out, r"lines of decisions.md +6\n")

    def test_subjects_of_commits(self):
        self.assertNotIn("subjects", self.figures())
        git = ["git", "-C", str(self.src), "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*git, "init", "-q"], check=True)
        for length in (72, 73):
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x" * length], check=True)
        self.assertRegex(self.figures(), r"commit subjects over 72 columns +1\n")

    def test_a_count_stays_below_its_ceiling(self):
        sys.dont_write_bytecode = True  # beside the tool, in the work tree
        loader = importlib.machinery.SourceFileLoader("figures", str(TOOL))
        tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
        loader.exec_module(tool)
        tool.CEILINGS = {"things": 2}
        self.assertEqual(tool.over_ceilings([("things", 2), ("others", 9)]), [])
        self.assertEqual(tool.over_ceilings([("things", 3)]), ["things: 3, of at most 2"])

    def test_a_directory_without_code_is_an_error(self):
        self.assertIn("no C++ file", subprocess.run(
            [sys.executable, str(TOOL), str(self.src / "none")], capture_output=True, text=True,
            check=False).stderr)


if __name__ == "__main__":
    unittest.main()
