#!/usr/bin/env python3
"""Tests of the hardening in cmake/Options.cmake: which flags it adds to which; nothing is compiled."""

import pathlib
import subprocess
import tempfile
import unittest

OPTIONS = pathlib.Path(__file__).resolve().parent.parent / "cmake/Options.cmake"
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(made_up LANGUAGES NONE)
include({OPTIONS})
get_directory_property(compile COMPILE_OPTIONS)
get_directory_property(link LINK_OPTIONS)
message(NOTICE "compile ${{compile}} link ${{link}}")
"""
FORTIFY = "_FORTIFY_SOURCE"
PROTECTOR = "-fstack-protector-strong"
RELRO = "-Wl,-z,relro,-z,now"


class HardeningTest(unittest.TestCase):
    def flags(self, **variables):
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-") as directory:
            (pathlib.Path(directory) / "CMakeLists.txt").write_text(PROJECT)
            run = subprocess.run(
                ["cmake", "-S", directory, "-B", f"{directory}/build",
                 *(f"-D{name}={value}" for name, value in variables.items())],
                capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            return run.stderr

    def test_an_optimised_build_is_hardened_whatever_its_type(self):
        for variables in ({"CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG"},
                          {"CMAKE_BUILD_TYPE": "None", "CMAKE_CXX_FLAGS": "-g -O2"},
                          {"CMAKE_CXX_FLAGS": "-Os"}):
            flags = self.flags(**variables)
            for flag in (FORTIFY, PROTECTOR, RELRO):
                self.assertIn(flag, flags, variables)

    # _FORTIFY_SOURCE without optimisation is a warning, an error here.
    def test_a_debug_build_is_not(self):
        flags = self.flags(CMAKE_BUILD_TYPE="Debug", CMAKE_CXX_FLAGS_DEBUG="-O0 -g1")
        for flag in (FORTIFY, PROTECTOR, RELRO):
            self.assertNotIn(flag, flags)

    def test_a_distributions_flags_are_left_alone(self):
        flags = self.flags(CMAKE_BUILD_TYPE="None",
                           CMAKE_CXX_FLAGS="-O2 -fstack-protector-strong -D_FORTIFY_SOURCE=3")
        self.assertNotIn(FORTIFY, flags)
        self.assertNotIn(PROTECTOR, flags)
        self.assertIn(RELRO, flags)

    def test_a_sanitized_build_is_not_hardened(self):
        flags = self.flags(CMAKE_BUILD_TYPE="Debug", CMAKE_CXX_FLAGS_DEBUG="-O1 -g1",
                           PLIMSOLL_SANITIZE="thread")
        self.assertNotIn(FORTIFY, flags)

    def test_portable_programs_have_no_packed_relocations(self):
        release = {"CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_FLAGS_RELEASE": "-O2"}
        self.assertIn("pack-relative-relocs", self.flags(**release))
        self.assertNotIn("pack-relative-relocs",
                         self.flags(**release, PLIMSOLL_PORTABLE="ON"))


if __name__ == "__main__":
    unittest.main()
