#!/usr/bin/env python3
"""Tests of tools/check_words on made-up trees."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "check_words"


class CheckWordsTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        for name in ("src", "tests", "bench", "tools", "examples", "fuzz"):
            (self.root / name).mkdir()

    def check(self, path, text, *options):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        run = subprocess.run([sys.executable, str(TOOL), *options], cwd=self.root,
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1 if run.stdout else 0, run.stderr)
        file.unlink()
        return run.stdout.splitlines()

    def test_lines_of_comments_begin_with_a_noun_or_a_verb(self):
        for word in ("Of", "As", "What", "Those", "Its"):
            self.assertEqual(self.check("src/a.cc", f"int a;\n  // {word} a thing.\n"),
                             [f'src/a.cc:2: a comment\'s line begins with "{word}": '
                              "write a noun or a verb first"])
        self.assertEqual(len(self.check("src/a.h", "int a;  // As b\n/* Its b */\n")), 2)
        self.assertEqual(len(self.check("api/a.proto", "message A {\n  // Of b.\n}\n")), 1)
        self.assertEqual(self.check("src/a.cc", "// Office, Ask, its\n// of, as\n"
                                                'const char* a = "As b";\n'), [])

    def test_phrases_in_comments(self):
        for phrase in ("anew", "put in force", "puts in force", "what is not there", "has gone",
                       "is told", "tells", "a word of", "Tells"):
            found = self.check("src/a.h", f"int a;\n// B {phrase} c.\n")
            self.assertEqual(len(found), 1, phrase)
            self.assertIn(f'src/a.h:2: "{phrase.lower()}": write ', found[0])
        self.assertEqual(self.check("src/a.h", "// renewed; retells; is toldest; has gones\n"), [])

    def test_a_phrase_over_two_lines(self):
        self.assertEqual(len(self.check("src/a.h", "  // The plugin is\n  // told.\nint a;\n")), 1)
        self.assertEqual(len(self.check("src/a.cc", 'Log("the plugin has "\n    "gone");\n')), 1)
        self.assertEqual(self.check("src/a.h", "// The plugin is\nint a;\n// told.\n"), [])
        self.assertEqual(self.check("src/a.cc", 'Log("the plugin has ", "gone");\n'), [])

    def test_texts_of_the_product_but_not_of_tests(self):
        text = 'const char* a = "it\\" has gone";  // a\nconst char b = \'"\';\n'
        self.assertEqual(len(self.check("src/a.cc", text)), 1)
        self.assertEqual(len(self.check("bench/a.cc", text)), 1)
        self.assertEqual(len(self.check("src/a.cc", 'a = R"b(it\n"has gone" // c)b";\n')), 1)
        for path in ("src/a_test.cc", "src/a_for_test.h", "tests/a.cc"):
            self.assertEqual(self.check(path, text), [])

    def test_names_in_code_are_free(self):
        self.assertEqual(self.check("src/a.cc", "bool anew = tells(1'000'000);\n"), [])

    def test_other_files_are_read_as_text(self):
        self.assertEqual(len(self.check("tools/a.py", '"""It tells."""\n# As b.\n')), 2)
        self.assertEqual(len(self.check("src/room/CMakeLists.txt", "  # What it is.\n")), 1)
        self.assertEqual(len(self.check("src/room/README.md", "# What it is\n\nIt tells.\n")), 1)
        self.assertEqual(len(self.check("docs/a.md", "It is made\nanew.\n")), 1)
        self.assertEqual(self.check("fuzz/corpus/a/b", "# As b, anew.\n"), [])

    def test_other_directories_and_itself_are_not_read(self):
        self.assertEqual(self.check("other/a.sh", "# As b.\n"), [])
        self.assertEqual(self.check("tools/check_words", "# As b.\n"), [])

    def test_paths_may_be_given(self):
        self.assertEqual(self.check("src/a.cc", "// As b.\n", "tests"), [])
        self.assertEqual(len(self.check("src/a.cc", "// As b.\n", "src/a.cc")), 1)


if __name__ == "__main__":
    unittest.main()
