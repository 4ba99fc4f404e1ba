#!/usr/bin/env python3
"""Tests of cmake/Archives.cmake in a project of made-up imported libraries; nothing is compiled."""

import pathlib
import subprocess
import tempfile
import unittest

ARCHIVES = pathlib.Path(__file__).resolve().parent.parent / "cmake/Archives.cmake"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(made_up LANGUAGES NONE)
include({archives})
function(library name path)
  add_library(${{name}} SHARED IMPORTED GLOBAL)
  set_property(TARGET ${{name}} PROPERTY IMPORTED_LOCATION_NONE ${{path}})
endfunction()
{body}
"""
PRINT_LOCATION = """
get_target_property(location {0} IMPORTED_LOCATION_NONE)
message(NOTICE "{0} is ${{location}}.")
"""


class ArchivesTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        for name in ("libone.so.1.2", "libone.a", "libtwo.so.1.2", "libre2.a"):
            (self.directory / name).touch()

    def configure(self, body):
        (self.directory / "CMakeLists.txt").write_text(PROJECT.format(
            archives=ARCHIVES, body=body.replace("@", str(self.directory))))
        return subprocess.run(
            ["cmake", "-S", str(self.directory), "-B", str(self.directory / "build"),
             f"-DCMAKE_LIBRARY_PATH={self.directory}"], capture_output=True, text=True, check=False)

    def test_an_archive_replaces_the_shared_library_beside_it(self):
        for name in ("one", "one::one"):
            run = self.configure(f"library({name} @/libone.so.1.2)\nplimsoll_use_archives(one)"
                                 + PRINT_LOCATION.format(name))
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(f"{name} is {self.directory}/libone.a.", run.stderr)

    def test_other_libraries_are_left_alone(self):
        run = self.configure("library(one::one @/libone.so.1.2)\nlibrary(one_two @/libtwo.so.1.2)\n"
                             "plimsoll_use_archives(one)" + PRINT_LOCATION.format("one_two"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("libtwo.so.1.2.", run.stderr)

    def test_a_missing_archive_is_an_error(self):
        run = self.configure("library(two::two @/libtwo.so.1.2)\nplimsoll_use_archives(two)")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("two::two: there is no archive beside", run.stderr)

    def test_a_library_without_a_target_is_an_error(self):
        for body in ("", "add_library(three::three INTERFACE IMPORTED)",
                     "add_executable(three::tool IMPORTED)"):
            run = self.configure(body + "\nplimsoll_use_archives(three)")
            self.assertNotEqual(run.returncode, 0, body)
            self.assertIn("No archive of three", run.stderr)

    def test_flags_become_archives_and_targets(self):
        run = self.configure("""
add_library(re2::re2 INTERFACE IMPORTED)
set_property(TARGET re2::re2 PROPERTY INTERFACE_LINK_LIBRARIES
  "-L/x;-lre2;-pthread;-labsl_base;-labsl_hash")
plimsoll_use_archives(re2)
get_target_property(libraries re2::re2 INTERFACE_LINK_LIBRARIES)
message(NOTICE "[${libraries}]")""")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(f"[-L/x;{self.directory}/libre2.a;-pthread;absl::base;absl::hash]", run.stderr)


if __name__ == "__main__":
    unittest.main()
