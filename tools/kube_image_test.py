#!/usr/bin/env python3
"""Tests of tools/kube_image and packaging/kube/Containerfile, with a made-up build of the image's program."""

import fnmatch
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent
# Libraries that a release build of plimsoll-kube links statically, as far as tests need it.
ARCHIVES = ["libre2.a", "libcares.a"]


def archive(name):
    return f"/usr/lib/{platform.machine()}-linux-gnu/{name}"


class KubeImageTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.root = self.directory / "image"

    def build(self, program, linked="ON"):
        """A build directory whose plimsoll-kube is a copy of this program."""
        build = self.directory / "build"
        (build / "bin").mkdir(parents=True)
        shutil.copy(program, build / "bin/plimsoll-kube")
        (build / "build.ninja").write_text(
            "rule link\n  command = false\n"
            f"build bin/plimsoll-kube: link {' '.join(archive(name) for name in ARCHIVES)}\n"
            "build plimsoll-kube: phony bin/plimsoll-kube\n")
        (build / "CMakeCache.txt").write_text(f"A:STRING=b\nPLIMSOLL_ARCHIVES:BOOL={linked}\n")
        return build / "bin/plimsoll-kube"

    def pack(self, program, *arguments):
        return subprocess.run([TOP / "tools/kube_image", "--rootfs", self.root, *arguments, program],
                              capture_output=True, text=True, check=False)

    def test_the_image_has_the_licences_of_all_that_is_in_it(self):
        run = self.pack(self.build("/bin/true"))
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        documents = self.root / "usr/share/doc/plimsoll-kube"
        for name in ("LICENSE", "NOTICE"):
            self.assertEqual((documents / name).read_bytes(), (TOP / name).read_bytes())
        licences = {path.name for path in (documents / "licences").iterdir()}
        # Archives, headers, shared libraries.
        self.assertLessEqual({"libre2-dev", "libc-ares-dev", "libfmt-dev", "libspdlog-dev", "libc6"},
                             licences)
        self.assertIn("Victor Zverovich", (documents / "licences/libfmt-dev").read_text())
        # libc6's file names it, and has a few words of it.
        self.assertIn("GNU LESSER GENERAL PUBLIC LICENSE",
                      (documents / "licences/common-licenses/LGPL-2.1").read_text())

    def test_a_program_whose_licences_are_unknown_is_refused(self):
        run = self.pack("/bin/true")
        self.assertEqual(run.returncode, 1)
        self.assertIn("/bin/true is in no build directory", run.stderr)
        program = self.build("/bin/true")
        (program.parent.parent / "build.ninja").write_text("")
        run = self.pack(program)
        self.assertEqual(run.returncode, 1)
        self.assertIn("unknown target 'plimsoll-kube'", run.stderr)

    def test_libraries_of_a_release_are_those_of_the_list(self):
        # ls needs libselinux.
        program = self.build("/bin/ls")
        run = self.pack(program)
        self.assertEqual(run.returncode, 1)
        self.assertIn("plimsoll-kube needs libselinux.so.1, which", run.stderr)
        self.assertEqual(list(self.root.iterdir()), [])
        shutil.rmtree(program.parent.parent)
        run = self.pack(self.build("/bin/ls", linked="OFF"))
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_an_image_over_the_limit_is_refused(self):
        program = self.build("/bin/true")
        out = self.directory / "image.tar"
        for limit, status in (("1", 1), ("40", 0)):
            run = subprocess.run([TOP / "tools/kube_image", "--archive", out, "--limit", limit, program],
                                 capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, out.exists()), (status, status == 0), run.stderr)
            if status:
                self.assertRegex(run.stderr, r"the image has \d\.\d MiB, and the limit is 1 MiB")
        self.assertIn("unpacked, is refused (40)", subprocess.run(
            [TOP / "tools/kube_image", "--help"], capture_output=True, text=True, check=True).stdout)


class ContainerfileTest(unittest.TestCase):
    """What can be said of packaging/kube/Containerfile without a container engine."""

    def setUp(self):
        lines = (TOP / "packaging/kube/Containerfile").read_text()
        self.comments = " ".join(re.findall(r"^# ?(.*)$", lines, re.M))
        self.steps = re.sub(r"^#.*\n|\\\n", "", lines, flags=re.M).split("\n")
        self.ignored = re.sub(r"#.*", "", (TOP / ".dockerignore").read_text()).split()

    def version_of(self, commit_file, argument):
        """What --version prints in a build of these sources and this --build-arg COMMIT; None: it fails."""
        step, = [step for step in self.steps if step.startswith("RUN ") and "cmake/commit" in step]
        self.assertIn("ARG COMMIT", self.steps[self.steps.index("FROM ${BASE} AS build"):])
        self.assertLess(self.steps.index("ARG COMMIT"), self.steps.index(step))
        with tempfile.TemporaryDirectory() as directory:
            sources = pathlib.Path(directory)
            (sources / "cmake").mkdir()
            (sources / "cmake/commit").write_text(commit_file)
            run = subprocess.run(["sh", "-c", step.removeprefix("RUN ")], cwd=sources, text=True,
                                 capture_output=True, check=False,
                                 env={"PATH": "/usr/bin:/bin"} | ({"COMMIT": argument} if argument else {}))
            if run.returncode != 0:
                self.assertIn("--build-arg COMMIT=", run.stderr)
                return None
            (sources / "script.cmake").write_text(
                f"include({TOP}/cmake/Version.cmake)\nmessage(${{PLIMSOLL_BUILD}})\n")
            return subprocess.run(
                ["cmake", "-DCMAKE_BUILD_TYPE=Release", "-DPROJECT_VERSION=1.2.3",
                 f"-DPROJECT_SOURCE_DIR={sources}", "-P", sources / "script.cmake"], text=True,
                stderr=subprocess.PIPE, check=True).stderr.strip()

    def test_builds_name_their_commit(self):
        commit = "0123456789abcdef0123456789abcdef01234567"
        clone = "$Format:%H$\n"
        named = "1.2.3 (commit 0123456789ab)"
        self.assertEqual(self.version_of(clone, commit), named)
        self.assertEqual(self.version_of(f"{commit}\n", None), named)
        for argument in (None, "main", "01234"):
            self.assertIsNone(self.version_of(clone, argument), argument)

    def test_the_base_is_the_callers_choice_and_its_tag_is_explained(self):
        self.assertEqual([step for step in self.steps if step.startswith("FROM ")],
                         ["FROM ${BASE} AS build", "FROM scratch"])
        base, = [step for step in self.steps if step.startswith("ARG BASE=")]
        self.assertLess(self.steps.index(base), self.steps.index("FROM ${BASE} AS build"))
        if "@sha256:" not in base:
            self.assertRegex(base, r":1[23]-slim$")
            self.assertRegex(self.comments, "BASE is a tag here.*security updates.*--build-arg BASE=")

    def test_the_image_is_what_kube_image_makes(self):
        """It checks shared libraries and size, and collects licences."""
        step, = [step for step in self.steps if "tools/kube_image" in step]
        self.assertRegex(step, "&& tools/kube_image --rootfs /image build/release/bin/plimsoll-kube$")
        self.assertNotIn("--limit", step)
        self.assertEqual([step for step in self.steps if step.startswith("COPY --from")],
                         ["COPY --from=build /image /"])

    def test_the_build_is_not_given_git_or_builds_and_all_that_it_reads(self):
        self.assertLessEqual({".git", "build"}, set(self.ignored))
        read = re.findall(r"add_subdirectory\((\w+)", (TOP / "CMakeLists.txt").read_text())
        read += ["src", "cmake", "packaging", "tools", "LICENSE", "NOTICE", "CMakeLists.txt",
                 "CMakePresets.json"]
        self.assertIn("api", read)
        for name in read:
            self.assertTrue((TOP / name).exists(), name)
            self.assertFalse([pattern for pattern in self.ignored if fnmatch.fnmatch(name, pattern)], name)


if __name__ == "__main__":
    unittest.main()
