#!/usr/bin/env python3
"""Tests of tools/check_rooms on made-up trees."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent / "check_rooms"
ROOMS = "# lowest first\nlow:\nmid/deep: low\nmid: mid/deep (low)\nhigh grpc: low mid\n"
DOCUMENT = """# Rooms
```mermaid
graph TD
  top["Top<br/>for people"]
  middle["The middle"]
  bottom["Bottom"]
  top --> middle
  middle --> bottom
```
### Top
| room | for |
| --- | --- |
| `high` | d |
### The middle
| `mid` | c |
| `mid/deep` | b |
### Bottom
| `low` | a |
"""


class CheckRoomsTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(self.directory.cleanup)
        self.src = pathlib.Path(self.directory.name) / "src"
        for room in ("low", "mid/deep", "mid", "high"):
            self.write(f"{room}/CMakeLists.txt", "")
            self.write(f"{room}/own.h", "")
            for used in ("low", "mid/deep", "mid"):
                self.write(f"{room}/uses_{used.replace('/', '_')}_test.cc",
                           f'#include "{used}/own.h"\n' if self.uses(room, used) else "")
        self.write("ROOMS", ROOMS)

    @staticmethod
    def uses(room, used):
        return used in next(line.split(":")[1] for line in ROOMS.splitlines()
                            if re.match(f"{room}[: ]", line)).replace("(", " ").replace(")", " ").split()

    def write(self, path, text):
        file = self.src / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def check(self, *documents):
        run = subprocess.run([sys.executable, str(TOOL), str(self.src / "ROOMS"), *documents],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.returncode, 1 if run.stdout else 0, run.stdout)
        return run.stdout.replace(str(self.src) + "/", "")

    def test_a_room_includes_itself_and_what_the_list_names(self):
        self.write("high/a.cc", '#include "high/own.h"\n#include "mid/own.h"\n'
                                '#include "low/own.h"\n#include <string>\n')
        self.write("low/a.cc", '#include "low/own.h"\n#include "absl/status/status.h"\n')
        self.assertEqual(self.check(), "")

    def test_any_other_room_is_refused_with_file_and_line(self):
        self.write("low/a.cc", '#include <string>\n#  include "mid/own.h"\n')
        self.assertIn("low/a.cc:2: mid/own.h: ROOMS doesn't name mid among what low uses",
                      self.check())

    def test_what_is_used_through_another_must_be_named_too(self):
        self.write("high/a.cc", '#include "mid/deep/own.h"\n')
        self.assertIn("high/a.cc:1: mid/deep/own.h: ROOMS doesn't name", self.check())

    def test_an_inner_room_is_a_room_of_its_own(self):
        self.write("mid/deep/a.h", '#include "mid/own.h"\n')
        self.assertIn("mid/deep/a.h:1: mid/own.h: ", self.check())

    def test_tests_are_held_to_it_too(self):
        self.write("low/a_test.cc", '#include "high/own.h"\n')
        self.assertIn("low/a_test.cc:1:", self.check())

    def test_a_room_in_brackets_is_for_tests(self):
        self.write("mid/a_test.cc", '#include "low/own.h"\n')
        self.assertEqual(self.check(), "")
        self.write("mid/a.cc", '#include "low/own.h"\n')
        self.assertIn("mid/a.cc:1: low/own.h: ", self.check())

    def test_a_room_that_is_named_for_nothing_is_a_finding(self):
        self.write("high/uses_low_test.cc", "")
        self.assertIn("ROOMS:5: high includes no header of low", self.check())

    def test_generated_and_grpc_headers_need_the_mark(self):
        for header in ('"cri/v1/api.pb.h"', '"cri/v1/api.grpc.pb.h"', "<grpcpp/grpcpp.h>",
                       "<grpc/grpc.h>", '"google/protobuf/message.h"'):
            with self.subTest(header=header):
                self.write("mid/a.cc", f"#include {header}\n")
                self.write("high/a.cc", f"#include {header}\n")
                out = self.check()
                self.assertIn('mid/a.cc:1:', out)
                self.assertIn('marked "grpc"', out)
                self.assertNotIn("high/a.cc", out)

    def test_beast_is_nowhere_until_a_room_is_marked(self):
        self.write("high/a.cc", "#include <boost/beast/http.hpp>\n")
        self.assertIn('marked "beast"', self.check())
        self.write("ROOMS", ROOMS.replace("grpc", "grpc beast"))
        self.assertEqual(self.check(), "")

    def test_a_directory_that_is_not_listed_is_refused(self):
        self.write("shed/a.cc", "")
        self.write("mid/attic/a.h", "")
        out = self.check()
        self.assertIn("shed is no room", out)
        self.assertIn("mid/attic is no room", out)

    def test_code_outside_any_room_is_refused(self):
        self.write("main.cc", "")
        self.assertIn("main.cc: ", self.check())

    def test_fixtures_are_no_room_but_code_is_no_fixture(self):
        self.write("mid/testdata/cgroup/cpu.max", "max 100000\n")
        self.assertEqual(self.check(), "")
        self.write("mid/testdata/a.cc", "")
        self.assertIn("mid/testdata is no room", self.check())

    def test_paths_are_written_from_src(self):
        self.write("mid/a.cc", '#include "own.h"\n#include "../low/own.h"\n')
        out = self.check()
        self.assertIn("mid/a.cc:1: own.h: write", out)
        self.assertIn("mid/a.cc:2: ../low/own.h: write", out)

    def test_a_header_that_is_not_there_is_named(self):
        self.write("high/a.cc", '#include "low/gone.h"\n')
        self.assertIn("low/gone.h: there is no such file", self.check())

    def test_the_list_itself_is_checked(self):
        self.write("ROOMS", ROOMS + "low:\ncellar: attic\nhigh2 magic:\nnonsense\n")
        out = self.check()
        self.assertIn("room low is listed twice", out)
        self.assertIn("room cellar has no directory", out)
        self.assertIn("unknown mark magic", out)
        self.assertIn("cellar uses attic, which no line above lists", out)
        self.assertIn('ROOMS:9: not "ROOM MARK...: ROOM... (ROOM...)"', out)

    def test_a_room_uses_rooms_above_it_only(self):
        self.write("ROOMS", ROOMS.replace("low:", "low: mid"))
        self.assertIn("ROOMS:2: low uses mid, which no line above lists", self.check())

    def test_tests_use_rooms_below_them_too(self):
        self.write("ROOMS", ROOMS.replace("low:", "low: (mid attic)"))
        self.write("low/a_for_test.h", '#include "mid/own.h"\n')
        out = self.check()
        self.assertIn("tests of low use attic, which no line lists", out)
        self.assertNotIn("low/a_for_test.h", out)
        self.write("low/a.cc", '#include "mid/own.h"\n')
        self.assertIn("low/a.cc:1: mid/own.h: ", self.check())

    def check_document(self, old, new):
        document = pathlib.Path(self.directory.name) / "rooms.md"
        self.assertIn(old, DOCUMENT)
        document.write_text(DOCUMENT.replace(old, new))
        return self.check(str(document))

    def test_a_picture_has_the_uses_that_no_longer_way_has(self):
        self.assertEqual(self.check_document("", ""), "")
        out = self.check_document("  middle --> bottom\n", "  top --> bottom\n")
        self.assertIn("the picture lacks The middle --> Bottom", out)
        self.assertIn("the picture has Top --> Bottom, which is no direct use", out)
        self.assertIn("has no mermaid graph", self.check_document("```mermaid", "```"))

    def test_a_heading_above_rooms_is_a_box(self):
        out = self.check_document('["Bottom"]', '["Cellar"]')
        self.assertIn("the picture lacks the box Bottom", out)
        self.assertIn("the picture's box Cellar has no rooms", out)

    def test_boxes_make_no_cycle(self):
        out = self.check_document("### Bottom", "### Top")
        self.assertIn("boxes use each other: The middle, Top", out)

    def test_each_room_has_one_row(self):
        self.assertIn("room mid/deep has no row", self.check_document("| `mid/deep` | b |\n", ""))
        self.assertIn("room low has more than one row",
                      self.check_document("| `low` | a |", "| `low` | a |\n| `low` | a |"))
        self.assertIn("room attic has a row, and no line lists it",
                      self.check_document("| `low`", "| `attic` | e |\n| `low`"))


if __name__ == "__main__":
    unittest.main()
