#!/usr/bin/env python3
"""Tests of test_result.sh, of vm.py's arguments for QEMU, and of what image.py finds; nothing is booted."""

import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

import architectures
import image
import packages
import vm

RESULT = pathlib.Path(__file__).resolve().parents[2] / "cmake/test_result.sh"
LOG = """[ RUN      ] A.Passes
[       OK ] A.Passes (1 ms)
[ RUN      ] A.PassesAlso
its own line
[       OK ] A.PassesAlso (1 ms)
[ RUN      ] A.Skips
x.cc:1: Skipped
no such thing here
[  SKIPPED ] A.Skips (0 ms)
[ RUN      ] A.Fails
x.cc:2: Failure
[  FAILED  ] A.Fails (0 ms)
[ RUN      ] A.Dies
last words
suite_job: a ended with status 134
[ RUN      ] A.AfterIt
[       OK ] A.AfterIt (3 ms)
[  FAILED  ] A.Fails
"""


class ResultTest(unittest.TestCase):
    def result(self, test, log=LOG):
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-") as directory:
            path = pathlib.Path(directory) / "log"
            path.write_text(log)
            run = subprocess.run([RESULT, path, test], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout

    def test_shows_one_test_only(self):
        self.assertEqual(self.result("A.Passes"),
                         (0, "[ RUN      ] A.Passes\n[       OK ] A.Passes (1 ms)\n"))
        self.assertIn("its own line", self.result("A.PassesAlso")[1])

    def test_a_skip_is_no_failure_and_says_why(self):
        status, said = self.result("A.Skips")
        self.assertEqual(status, 0)
        self.assertIn("no such thing here", said)
        self.assertIn("[  SKIPPED ]", said)

    def test_failures(self):
        self.assertEqual(self.result("A.Fails")[0], 1)
        status, said = self.result("A.Dies")
        self.assertEqual(status, 1)
        self.assertIn("status 134", said)
        self.assertIn("did not end", said)
        self.assertNotIn("AfterIt", said)
        self.assertEqual(self.result("A.AfterIt")[0], 0)

    def test_what_did_not_run_failed(self):
        status, said = self.result("A.Never")
        self.assertEqual(status, 1)
        self.assertIn("not run", said)
        run = subprocess.run([RESULT, "/no/such/log", "A.B"], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("/no/such/log", run.stdout)


class CommandTest(unittest.TestCase):
    def command(self, kernel=b"\0" * 0x202 + b"HdrS", **options):
        path = pathlib.Path("/x")
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-") as directory:
            (pathlib.Path(directory) / "vmlinuz").write_bytes(kernel)
            given = vm.Options(kernel=pathlib.Path(directory), images=path, results=path, job=path,
                               **options)
            return " ".join(given.command(pathlib.Path("/work")))

    def test_two_nodes_of_four_cpus(self):
        command = self.command()
        self.assertIn("cpus=8,sockets=2,cores=2,threads=2", command)
        self.assertIn("cpu,node-id=1,socket-id=1", command)
        self.assertNotIn("slots", command)

    def test_room_for_hotplug_and_further_arguments(self):
        command = self.command(hotplug=True, append=["quiet2"], qemu=["-trace", "x"])
        self.assertIn("slots=4", command)
        self.assertIn("maxcpus=16", command)
        self.assertIn("cpu,node-id=1,socket-id=3", command)
        self.assertIn("quiet2 -trace x", command)

    def test_the_machine_is_the_kernels(self):
        self.assertTrue(self.command().startswith("qemu-system-x86_64 -machine q35"))
        self.assertIn("console=ttyS0", self.command())
        arm = b"\0" * 56 + b"ARM\x64" + b"\0" * 600
        self.assertTrue(self.command(arm).startswith("qemu-system-aarch64 -machine virt"))
        self.assertIn("console=ttyAMA0", self.command(arm))
        self.assertNotIn("clearcpuid", self.command(arm))
        with self.assertRaisesRegex(vm.VmError, "plugs in neither CPUs nor memory"):
            self.command(arm, hotplug=True)
        with self.assertRaisesRegex(SystemExit, "is no kernel"):
            self.command(b"\0" * 1000)


class ImageTest(unittest.TestCase):
    def test_another_roots_tools_and_libraries(self):
        """The root is this machine's; what is found there is what the dynamic linker finds."""
        root = pathlib.Path("/")
        program = image.find_tool("ls")
        self.assertEqual(image.find_tool("ls", root), program)
        names = {pathlib.Path(path).name for path in image.libraries_below(root, program)}
        self.assertEqual(names, {pathlib.Path(path).name for path in image.libraries(program, None)})
        self.assertIn("libc.so.6", names)
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-") as empty:
            with self.assertRaisesRegex(SystemExit, "which is not below"):
                image.libraries_below(pathlib.Path(empty), program)
            with self.assertRaisesRegex(SystemExit, "no program ls below"):
                image.find_tool("ls", pathlib.Path(empty))

    def test_a_programs_architecture(self):
        self.assertEqual(architectures.of_program("/bin/ls").name, architectures.of_this_machine())
        with self.assertRaisesRegex(SystemExit, "is no program"):
            architectures.of_program(__file__)

    def test_images_of_a_system_with_the_packages(self):
        with tempfile.TemporaryDirectory(prefix="plimsoll-test-") as directory:
            directory = pathlib.Path(directory)
            kernel, root = directory / "kernel", directory / "root"
            modules = kernel / "modules/1.2"
            modules.mkdir(parents=True)
            (kernel / "release").write_text("1.2\n")
            for name in image.BOOT_MODULES:
                (modules / f"{name}.ko").touch()
            (modules / "modules.dep").write_text(
                "".join(f"{name}.ko:\n" for name in image.BOOT_MODULES))
            (root / "etc").mkdir(parents=True)
            (root / "etc/hostname").write_text("plimsoll-vm\n")
            with unittest.mock.patch.object(image, "FREE_MIB", 8):
                packages.make_images(root, kernel, directory)
            said = subprocess.run(["debugfs", "-R", "cat etc/hostname", directory / "root.img"],
                                  capture_output=True, text=True, check=True).stdout
            self.assertEqual(said, "plimsoll-vm\n")
            self.assertIn(b"virtio_blk.ko", (directory / "initramfs.cpio").read_bytes())


if __name__ == "__main__":
    unittest.main()
