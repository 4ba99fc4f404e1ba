#!/usr/bin/env python3
"""Tests of tools/check_docs on a made-up project."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "check_docs"
FAKE_PLIMSOLL = """#!/bin/sh
case "$*" in
  --help) printf 'usage\\n  --root DIR   where\\nSubcommands:\\n  run   runs\\n  image   images\\n' ;;
  'run --help') printf '  -d,--detach   do not wait\\n' ;;
  'image --help') printf 'Subcommands:\\n  import   brings in\\n' ;;
  'image import --help') printf '  --name TEXT  its name\\n' ;;
  *) exit 1 ;;
esac
"""


class CheckDocsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        (self.root / "Makefile").write_text("A ?= b\nhelp: ## x\nasan tsan: setup\nsetup:\n")
        (self.root / "CMakePresets.json").write_text(
            '{"configurePresets": [{"name": "base", "hidden": true}, {"name": "dev"}]}')
        self.program = self.root / "plimsoll"
        self.program.write_text(FAKE_PLIMSOLL)
        self.program.chmod(0o755)

    def check(self, *lines, text=None):
        file = self.root / "page.md"
        file.write_text(text if text is not None else "\n".join(["```console", *lines, "```", ""]))
        run = subprocess.run(
            [sys.executable, str(TOOL), "--root", str(self.root), "--plimsoll", str(self.program),
             str(file)], capture_output=True, text=True, check=False)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.returncode, 1 if run.stdout else 0)
        return run.stdout

    def test_what_is_there_passes(self):
        self.assertEqual(self.check(
            "# make help A=1", "$ YES=1 make asan && make tsan", "$ cmake --preset dev", "output: make x",
            "# plimsoll --root /x run --detach pod.yaml", "$ plimsoll image import a.tar --name b | cat",
            "$ plimsoll run pod.yaml -- --no-flag-of-ours"), "")

    def test_a_missing_make_target_is_found_with_its_line(self):
        self.assertIn("page.md:3: `make nope`: the Makefile has no target nope",
                      self.check("$ make help", "$ make nope"))

    def test_a_hidden_or_missing_preset_is_found(self):
        self.assertIn("no preset base", self.check("$ ctest --preset base -R x"))

    def test_a_missing_subcommand_or_flag_is_found(self):
        self.assertIn("has no subcommand fly", self.check("# plimsoll fly"))
        self.assertIn("plimsoll run has no flag --det", self.check("# plimsoll run --det x.yaml"))
        self.assertIn("plimsoll image import has no flag --tag",
                      self.check("# plimsoll image import a \\", "    --tag=b"))

    def test_a_missing_file_or_link_is_found(self):
        self.assertIn("there is no examples/gone.yaml",
                      self.check("# plimsoll run examples/gone.yaml"))
        self.assertIn("page.md:2: the link docs/gone.md leads nowhere",
                      self.check(text="\nsee [this](docs/gone.md) and [that](https://x.example/y)\n"))

    def test_without_files_the_readmes_of_rooms_are_checked_too(self):
        for directory in ("docs", "src/linux/cgroup"):
            (self.root / directory).mkdir(parents=True)
        for page in ("README.md", "CONTRIBUTING.md", "docs/page.md"):
            (self.root / page).write_text("a page\n")
        (self.root / "src/linux/cgroup/README.md").write_text(
            "see [this](../../../docs/page.md)\nand [that](../gone.h)\n")
        (self.root / "src/linux/cgroup/notes.md").write_text("[not a page](gone.md)\n")
        run = subprocess.run([sys.executable, str(TOOL), "--root", str(self.root)],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.stdout,
                         "src/linux/cgroup/README.md:2: the link ../gone.h leads nowhere\n")
        self.assertEqual(run.returncode, 1)

    def test_other_blocks_are_not_commands(self):
        self.assertEqual(self.check(text="```sh\n$ make nope\n```\n"), "")

    def test_blocks_that_are_run_are_checked_too(self):
        self.assertIn("page.md:2: `make nope`: the Makefile has no target nope",
                      self.check(text="```console run\n# make nope\n```\n"))
        self.assertIn("page.md:1: `" + "```console runs` is neither",
                      self.check(text="```console runs\n# make nope\n```\n"))

    def test_a_table_of_tests_names_tests_that_exist(self):
        (self.root / "src").mkdir()
        (self.root / "src/a_test.cc").write_text("TEST_F(SuiteTest, ThereIsOne) {\n}\n"
                                                 "TEST(\n    LongTest, WithABreak) {\n}\n")
        (self.root / "src/b_test.py").write_text("class A:\n    def test_python(self):\n")
        table = "| case | test |\n| --- | --- |\n"
        self.assertEqual(self.check(text=(
            table + "| a | `ThereIsOne`, `SuiteTest.ThereIsOne` (src/a_test.cc) |\n"
            "| b | `WithABreak`, `test_python` |\n"
            "| c | none yet; being added: `Later` (src/c_test.cc) |\n\n"
            "| test | other |\n| --- | --- |\n| x | `NoTest` |\n")), "")
        self.assertIn("page.md:3: there is no test ThereIsNone",
                      self.check(text=table + "| a | `ThereIsNone` |\n"))
        self.assertIn("there is no test OtherTest.ThereIsOne",
                      self.check(text=table + "| a | `OtherTest.ThereIsOne` |\n"))
        self.assertIn("page.md:4: there is no src/c_test.cc",
                      self.check(text=table + "| a | src/a_test.cc |\n| b | src/c_test.cc |\n"))


if __name__ == "__main__":
    unittest.main()
