#!/usr/bin/env python3
"""Tests of packaging/tarball/install.sh with a made-up tarball, and made-up tools of the machine."""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent
# Prints what ldd is to say of it.
PROGRAM = "#!/bin/sh\n# {version}\n{more}\necho '\tlibc.so.6 => /lib/libc.so.6 (0x00007f)'\n"
LDD = "#!/bin/sh\n[ \"$1\" = --version ] && {{ {version}; exit; }}\nexec \"$1\"\n"
UNIT = "[Service]\nExecStart=@PREFIX@/bin/{}\n"
RUNNING = """#!/bin/sh
echo "$*" >>"$(dirname "$0")/log"
[ "$1" != is-active ] || {{ echo {state}; exit 3; }}
"""
# In a mount namespace of its own: nothing outside of the test's directory is changed.
NAMESPACE = """set -eu
mount -t tmpfs -o "size=$3" none /usr/local
mount -t tmpfs none /opt
mount -t tmpfs none /run
mount -t tmpfs none /etc
cp "$2" /etc/os-release
mkdir -p /run/systemd/system
eval "$1"
"""


class TarballTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="plimsoll-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.tools = self.directory / "tools"
        self.tools.mkdir()
        self.tool("uname", "#!/bin/sh\necho x86_64\n")
        self.tool("getconf", "#!/bin/sh\necho glibc 2.36\n")
        self.tool("ldd", LDD.format(version="exit 1"))
        self.tool("dpkg-query", "#!/bin/sh\nexit 1\n")
        self.tool("rpm", "#!/bin/sh\nexit 1\n")
        for name in ("systemctl", "systemd-sysusers"):
            self.tool(name, RUNNING.format(state="inactive"))
        self.os_release("ID=fedora\nPRETTY_NAME='Fedora Linux 99'\n")
        self.destdir = self.directory / "root"

    def tool(self, name, text):
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def os_release(self, text):
        (self.directory / "os-release").write_text(text)

    def unpack(self, version="1", more="", further=()):
        """Makes an unpacked tarball, and returns its directory."""
        root = self.directory / f"plimsoll-{version}"
        files = {f"bin/{name}": PROGRAM.format(version=version, more=more)
                 for name in ("plimsoll", "plimsolld", "plimsoll-agent", "plimsoll-kube")}
        files["libexec/plimsoll/plimsoll-hwloc"] = PROGRAM.format(version=version, more="")
        files["lib/plimsoll/libx.so.1"] = version
        for unit in ("plimsolld.service", "plimsoll-agent.service", "plimsoll-kube.service",
                     "plimsoll-kube.socket"):
            files[f"lib/systemd/system/{unit}"] = UNIT.format(unit.partition(".")[0])
        files["lib/sysusers.d/plimsoll-kube.conf"] = "u plimsoll-kube\n"
        files["share/man/man8/plimsolld.8"] = version
        files |= {name: version for name in further}
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
            (root / name).chmod(0o755 if "bin/" in name or "libexec/" in name else 0o644)
        script = (TOP / "packaging/tarball/install.sh").read_text()
        for name, value in (("VERSION", version), ("MACHINE", "x86_64"), ("GLIBC", "2.34"),
                            ("DAEMON_SCHEMA", "3"), ("AGENT_SCHEMA", "2")):
            script = script.replace(f"@{name}@", value)
        (root / "install.sh").write_text(script)
        (root / "install.sh").chmod(0o755)
        return root

    def environment(self):
        return {"PATH": f"{self.tools}:/usr/sbin:/usr/bin:/sbin:/bin"}

    def install(self, root, *arguments):
        return subprocess.run([root / "install.sh", *arguments], capture_output=True, text=True,
                              check=False, env=self.environment())

    def install_here(self, script):
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", NAMESPACE, "sh", script,
             self.directory / "os-release", str(44 * resource.getpagesize())],
            capture_output=True, text=True, check=False, env=self.environment())

    def into(self, root, *arguments):
        return self.install(root, "--destdir", str(self.destdir), *arguments)

    def installed(self):
        return {str(path.relative_to(self.destdir)): path for path in self.destdir.rglob("*")
                if path.is_file()}

    def test_the_script_fills_in_all_that_the_packer_knows(self):
        script = (TOP / "packaging/tarball/install.sh").read_text()
        packer = (TOP / "tools/tarball.sh").read_text()
        for name in set(re.findall(r"@([A-Z_]+)@", script)) - {"PREFIX"}:
            self.assertIn(f"s/@{name}@/", packer)

    def test_the_texts_that_licences_name_are_packed(self):
        # Other distributions have no /usr/share/common-licenses.
        packer = (TOP / "tools/tarball.sh").read_text()
        self.assertIn('\nTEXTS=1 packaging/licences.sh "$build" "$document/licences"', packer)

    def test_units_name_the_prefix(self):
        for prefix, units in (("/usr/local", "usr/local/lib/systemd/system"),
                              ("/opt/p", "etc/systemd/system")):
            run = self.into(self.unpack(), f"--prefix={prefix}")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            files = self.installed()
            self.assertEqual(files[f"{units}/plimsolld.service"].read_text(),
                             f"[Service]\nExecStart={prefix}/bin/plimsolld\n")
            self.assertEqual(files[f"{prefix[1:]}/bin/plimsolld"].stat().st_mode & 0o777, 0o755)
            self.assertEqual(
                files[f"{prefix[1:]}/lib/plimsoll/libx.so.1"].stat().st_mode & 0o777, 0o644)

    def test_an_upgrade_removes_what_is_gone_and_an_uninstallation_all(self):
        self.assertEqual(self.into(self.unpack("1", further=("share/old/page",))).returncode, 0)
        self.assertEqual(self.into(self.unpack("2")).returncode, 0)
        files = self.installed()
        self.assertNotIn("usr/local/share/old/page", files)
        self.assertIn("# 2\n", files["usr/local/bin/plimsolld"].read_text())
        (self.destdir / "usr/local/bin/other").write_text("kept")
        run = self.into(self.unpack("2"), "--uninstall")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(list(self.installed()), ["usr/local/bin/other"])
        self.assertFalse((self.destdir / "usr/local/libexec/plimsoll").exists())
        self.assertTrue((self.destdir / "usr/local/lib").exists())
        run = self.into(self.unpack("2"), "--uninstall")
        self.assertEqual(run.returncode, 1)
        self.assertIn("nothing is installed below /usr/local", run.stderr)

    def test_bad_arguments_are_refused(self):
        for arguments in (["--prefix", "opt"], ["--prefix", "/a b"], ["--prefix"], ["--frefix=/x"],
                          ["--destdir", "x"], ["--prefix", "/"], ["--prefix=//usr/.."]):
            run = self.into(self.unpack(), *arguments)
            self.assertEqual(run.returncode, 1, arguments)
            self.assertTrue(run.stderr.startswith("install.sh: "), run.stderr)
        self.assertIn("--uninstall", self.install(self.unpack(), "--help").stdout)

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_machines_that_can_not_run_it_are_refused_in_words(self):
        def refused(*texts, root=None):
            run = self.install_here(f"! {root or self.unpack()}/install.sh && ls /usr/local")
            self.assertEqual((run.returncode, run.stdout), (0, ""), texts)
            for text in texts:
                self.assertIn(text, run.stderr)

        run = self.install_here(f"! {self.unpack()}/install.sh --destdir / && ls /usr/local")
        self.assertEqual((run.returncode, run.stdout), (0, ""))
        self.assertIn("--destdir /: another directory than the root is needed", run.stderr)

        self.tool("getconf", "#!/bin/sh\necho glibc 2.31\n")
        refused("needs glibc 2.34", "Fedora Linux 99 has glibc 2.31")
        self.tool("getconf", "#!/bin/sh\necho getconf: unknown variable >&2; exit 1\n")
        self.tool("ldd", LDD.format(version="echo musl libc >&2; exit 1"))
        refused("needs the GNU C library (glibc) 2.34", "another one, such as musl")
        self.tool("ldd", LDD.format(version="echo 'ldd (GNU libc) 2.28'"))
        refused("has glibc 2.28")
        self.tool("getconf", "#!/bin/sh\necho glibc 2.100.9000\n")
        self.tool("uname", "#!/bin/sh\necho aarch64\n")
        refused("this tarball is for x86_64, and this machine is aarch64")
        self.tool("uname", "#!/bin/sh\necho x86_64\n")

        self.tool("rpm", "#!/bin/sh\n[ \"$3\" = plimsoll-agent ]\n")
        refused("the package plimsoll-agent is installed", "dnf remove plimsoll-agent")
        self.tool("rpm", "#!/bin/sh\nexit 1\n")
        for state in ("installed", "half-configured"):
            self.tool("dpkg-query", f"#!/bin/sh\necho {state}\n")
            refused("the package plimsoll is installed", "apt-get remove plimsoll")
        self.tool("dpkg-query", "#!/bin/sh\necho config-files\n")

        lacking = self.unpack("lacking", more="printf '\tlibhwloc.so.15 => not found\\n"
                              "\tlibz.so.1 => not found\\n'")
        refused("lacks libhwloc.so.15 libz.so.1", "dnf install hwloc-libs zlib.", root=lacking)
        for line, command in (("ID=ubuntu\nID_LIKE=debian", "apt-get install libhwloc15 zlib1g."),
                              ("ID=rocky\nID_LIKE='rhel centos fedora'", "dnf install hwloc"),
                              ("ID='opensuse-leap'", "zypper install libhwloc15 libz1."),
                              ("ID=other", ": install libhwloc.so.15 libz.so.1.")):
            self.os_release(f"{line}\n")
            refused(command, root=lacking)
        refused("/lib/libcrypto.so.3: version `OPENSSL_3.0.0' not found", root=self.unpack(
            "old", more='echo "x: /lib/libcrypto.so.3: version \\`OPENSSL_3.0.0\' not found"'))
        refused("can't be executed here", "noexec",
                root=self.unpack("noexec", more="echo Permission denied; exit 126"))

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_a_newer_database_alone_is_refused(self):
        root = self.unpack()
        state = self.directory / "state"
        state.mkdir()
        known = {"plimsoll.db": 3, "agent.db": 2}
        script = (f"mkdir /etc/plimsoll\ncp {self.directory}/*.yaml /etc/plimsoll\n"
                  f"{root}/install.sh")
        for value in ("{}", '"{}" # a comment', "'{}'"):
            for name, key in (("plimsolld", "state_dir"), ("agent", "stateDirectory")):
                (self.directory / f"{name}.yaml").write_text(f"{key}: {value.format(state)}\n")
            for newer in (None, *known):
                for database, schema in known.items():
                    schema += 1 if database == newer else -1 if value == "{}" else 0
                    (state / database).write_bytes(
                        b"SQLite format 3\0".ljust(60, b"x") + schema.to_bytes(4, "big") + b"x" * 32)
                run = self.install_here(script)
                if newer is None:
                    self.assertEqual((run.returncode, run.stderr), (0, ""), value)
                    continue
                self.assertEqual(run.returncode, 1, value)
                self.assertIn(
                    f"{state}/{newer} was written by a newer version (schema {known[newer] + 1}, "
                    f"this one knows up to {known[newer]}). Nothing was changed.", run.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_a_newer_database_of_commands_without_a_daemon_is_refused(self):
        (self.directory / "newer").write_bytes(
            b"SQLite format 3\0".ljust(60, b"x") + (4).to_bytes(4, "big") + b"x" * 32)
        # No configuration says where it is, whatever file there is.
        run = self.install_here(
            "mount -t tmpfs none /var/lib\nmkdir -p /var/lib/plimsoll/standalone /etc/plimsoll\n"
            f"cp {self.directory}/newer /var/lib/plimsoll/standalone/plimsoll.db\n"
            f"echo state_dir: /elsewhere >/etc/plimsoll/none\n{self.unpack()}/install.sh")
        self.assertEqual(run.returncode, 1)
        self.assertIn("/var/lib/plimsoll/standalone/plimsoll.db was written by a newer version (schema 4",
                      run.stderr)

    def test_programs_come_after_their_helpers_and_before_their_units(self):
        self.tool("mv", "#!/bin/sh\neval \"last=\\${$#}\"\n"
                  "echo \"$last\" >>\"$(dirname \"$0\")/log\"\nexec /bin/mv \"$@\"\n")
        self.assertEqual(self.into(self.unpack()).returncode, 0)
        renames = [name.removeprefix(f"{self.destdir}/usr/local/") for name in
                   (self.tools / "log").read_text().splitlines()]
        order = [renames.index(name) for name in (
            "lib/plimsoll/libx.so.1", "libexec/plimsoll/plimsoll-hwloc", "bin/plimsoll",
            "bin/plimsolld", "share/man/man8/plimsolld.8", "lib/systemd/system/plimsoll-agent.service")]
        self.assertEqual(order, sorted(order), renames)

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_daemons_are_restarted_and_a_full_disk_changes_nothing(self):
        first, second = self.unpack("1"), self.unpack("2")
        large = self.unpack("3")
        (large / "share/large").write_text("x" * 50 * resource.getpagesize())
        script = f"""
{first}/install.sh
! {large}/install.sh 2>{self.directory}/errors
grep -q '^# 1$' /usr/local/bin/plimsoll /usr/local/bin/plimsolld
find /usr/local -name '*.plimsoll-new' -o -name large
{second}/install.sh --prefix /usr/local
grep -q '^# 2$' /usr/local/bin/plimsolld
{second}/install.sh --uninstall
find /usr/local -type f
"""
        run = self.install_here(script)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        errors = (self.directory / "errors").read_text()
        self.assertIn("No space left", errors)
        self.assertIn("install.sh: the files could not be copied. Nothing was changed.", errors)
        self.assertNotIn("/usr/local/share/large", run.stdout)
        self.assertNotIn("plimsoll-new", run.stdout)
        upgrade = ["/usr/local/lib/sysusers.d/plimsoll-kube.conf", "daemon-reload",
                   "try-restart plimsolld.service", "try-restart plimsoll-agent.service",
                   "try-restart plimsoll-kube.service plimsoll-kube.socket"]
        removal = [line for unit in ("plimsoll-kube.service", "plimsoll-kube.socket",
                                     "plimsoll-agent.service", "plimsolld.service")
                   for line in (f"disable --quiet --now {unit}", f"is-active {unit}")]
        removal.append("daemon-reload")
        self.assertEqual((self.tools / "log").read_text().splitlines(),
                         upgrade + upgrade + removal)

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_with_a_read_only_etc_nothing_is_left(self):
        root = self.unpack()
        # Units of this prefix are below /etc.
        run = self.install_here(f"""
mount --bind /etc /etc
mount -o remount,bind,ro /etc
{root}/install.sh --prefix /opt/p || echo $?
find /opt /etc -mindepth 1
""")
        self.assertEqual((run.returncode, run.stdout), (0, "1\n/etc/os-release\n"), run.stderr)
        self.assertIn("Read-only file system", run.stderr)
        self.assertTrue(run.stderr.endswith("Nothing was changed.\n"), run.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_an_interrupted_installation_can_be_repeated_and_removed(self):
        first = self.unpack("1", further=("share/old/page",))
        second = self.unpack("2", further=("share/new/page",))
        # Fails with the first rename of a program.
        self.tool("mv", "#!/bin/sh\ncase $3 in $STOP) exit 1 ;; esac\nexec /bin/mv \"$@\"\n")
        run = self.install_here(f"""
stop() {{ ! STOP=$1 "$2/install.sh" >>/run/said; find /usr/local -name '*.new' -o -name '*-new' -o -name '*.both'; }}
stop '*/bin/plimsolld' {first}
STOP= {first}/install.sh --uninstall >>/run/said
find /usr/local ! -type d
STOP= {first}/install.sh >>/run/said
stop '*/bin/plimsolld' {second}
ls /usr/local/share/old/page
STOP= {second}/install.sh >>/run/said
ls -d /usr/local/share/old/* /usr/local/share/new/* 2>&1 || true
stop '*/bin/plimsolld' {first}
STOP= {second}/install.sh --uninstall >>/run/said
find /usr/local ! -type d
""")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.splitlines()[0], "/usr/local/share/old/page")
        self.assertEqual(run.stdout.splitlines()[2:], ["/usr/local/share/new/page"])

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_a_second_prefix_is_refused(self):
        root = self.unpack()
        for first, other in (("/usr/local", "/opt/p"), ("/opt/p", "/usr/local")):
            run = self.install_here(f"""
{root}/install.sh --prefix {first} >/dev/null
! {root}/install.sh --prefix {other} || exit 3
ls -A {other} >&2 || true
{root}/install.sh --prefix {first}/ >/dev/null
{root}/install.sh --prefix {first} --uninstall >/dev/null
{root}/install.sh --prefix {other} >/dev/null
""")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn(f"--uninstall --prefix {first}", run.stderr)
            self.assertNotIn("\nbin", run.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "mounts need root")
    def test_nothing_is_removed_under_a_daemon_that_runs(self):
        root = self.unpack()
        for state, said in (("deactivating", "plimsoll-kube.service doesn't stop"),
                            ("", "plimsoll-kube.service doesn't stop"), ("failed", "")):
            self.tool("systemctl", RUNNING.format(state=state))
            run = self.install_here(f"{root}/install.sh >/dev/null\n{root}/install.sh --uninstall")
            self.assertEqual(run.returncode, 1 if said else 0, run.stderr)
            self.assertIn(said, run.stderr)
        run = self.install_here(f"""rmdir /run/systemd/system
{root}/install.sh >/dev/null
mount -o remount,size=1m /usr/local
cp /bin/sleep /usr/local/bin/plimsolld
/usr/local/bin/plimsolld 60 & daemon=$!
trap 'kill $daemon' EXIT
for _ in $(seq 50); do
  [ "$(readlink /proc/$daemon/exe)" != /usr/local/bin/plimsolld ] || break
  sleep 0.1
done
! {root}/install.sh --uninstall || exit 3
ls /usr/local/bin
kill $daemon
wait $daemon || true
trap - EXIT
{root}/install.sh --uninstall >/dev/null
ls /usr/local/bin
""")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"daemons run \(process \d+\): stop them first")
        self.assertEqual(run.stdout.split(),
                         ["plimsoll", "plimsoll-agent", "plimsoll-kube", "plimsolld"])

    def test_links_out_of_another_root_are_refused(self):
        outside = self.directory / "outside"
        outside.mkdir()
        for link, prefix in (("usr/local", "/usr/local"), ("opt/p/share/man", "/opt/p"),
                             ("etc/systemd", "/opt/p")):
            with self.subTest(link):
                (self.destdir / link).parent.mkdir(parents=True)
                (self.destdir / link).symlink_to(outside)
                run = self.into(self.unpack(), "--prefix", prefix)
                self.assertEqual(run.returncode, 1)
                self.assertIn(f"outside of {self.destdir}. Nothing was changed.", run.stderr)
                self.assertEqual((list(outside.iterdir()), self.installed()), ([], {}))
                (self.destdir / link).unlink()
                # One that stays inside is followed.
                (self.destdir / "inside").mkdir()
                (self.destdir / link).symlink_to(os.path.relpath(
                    self.destdir / "inside", (self.destdir / link).parent))
                run = self.into(self.unpack(), "--prefix", prefix)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                shutil.rmtree(self.destdir)


if __name__ == "__main__":
    unittest.main()
