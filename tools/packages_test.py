#!/usr/bin/env python3
"""Tests of debian/: what it repeats of other files, preinst, and what a purge removes. Nothing is built."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent
# Debian's build-essential, and what only developers and only packages need.
NOT_DECLARED = {"g++", "make", "ccache"}
NOT_LISTED = {"debhelper-compat", "po-debconf", "qemu-user"}
# The works of NOTICE: archives of the build, and patterns of the packages with their licences.
ARCHIVES = {
    "gRPC": (["libgrpc.a", "libgrpc++.a"], r"libgrpc-dev|libgrpc\+\+-dev"),
    "protobuf": (["libprotobuf.a"], "libprotobuf-dev"),
    "absl": (["libabsl_base.a"], "libabsl-dev"),
    "re2": (["libre2.a"], "libre2-dev"),
    "c-ares": (["libcares.a"], "libc-ares-dev"),
    "yaml-cpp": (["libyaml-cpp.a"], "libyaml-cpp-dev"),
}
WORKS = {
    "gRPC, c-ares' client in it, upb": ARCHIVES["gRPC"][1],
    "Protocol Buffers": ARCHIVES["protobuf"][1],
    "Abseil": ARCHIVES["absl"][1],
    "RE2": ARCHIVES["re2"][1],
    "c-ares": ARCHIVES["c-ares"][1],
    "yaml-cpp": ARCHIVES["yaml-cpp"][1],
    "prometheus-cpp": "prometheus-cpp-dev",
    "spdlog, fmt": "libspdlog-dev|libfmt-dev",
    "JSON for Modern C++ (nlohmann)": "nlohmann-json3-dev",
    "CLI11": "libcli11-dev",
    "toml++": "libtomlplusplus-dev",
    "Boost (Asio, Beast)": r"libboost1\.\d+-dev",
    "GNU C Library (static programs)": "libc6-dev",
    "GCC's runtime libraries": r"libstdc\+\+-\d+-dev",
    "SQLite (a library in the tarball)": None,
    "BusyBox (image of the examples)": "busybox-static",
}
# Units by package.
UNITS = {"plimsoll": ["plimsolld.service"], "plimsoll-agent": ["plimsoll-agent.service"],
         "plimsoll-kube": ["plimsoll-kube.socket", "plimsoll-kube.service"]}


def text(name):
    return (TOP / name).read_text()


def alternatives(word):
    return frozenset(re.sub(r"\(.*?\)|<.*?>|\s", "", word).split("|"))


def listed(group):
    lines = text("packaging/debian-packages").split(f"[{group}]\n")[1].split("\n[")[0]
    words = [line.split("#")[0].strip() for line in lines.splitlines()]
    return [alternatives(word) for word in words if word]


def declared():
    field = re.search(r"^Build-Depends:(.*?)^\S", text("debian/control") + "\nEnd", re.M | re.S)
    field = re.sub(r"\n\n.*", "", field.group(1), flags=re.S)
    return [alternatives(word) for word in field.split(",")]


class PackagesTest(unittest.TestCase):
    def test_build_depends_are_the_listed_packages(self):
        for package in listed("build"):
            if not package & NOT_DECLARED:
                self.assertTrue(any(package & other for other in declared()), package)
        for package in declared():
            if not package & NOT_LISTED:
                self.assertTrue(any(package & other for other in listed("build")), package)

    def test_other_architectures_than_debians_two_are_refused(self):
        for arch, said in (("armhf", "ARCH=armhf"), ("arm 64", "ARCH=arm 64")):
            run = subprocess.run([TOP / "tools/packages.sh", "bookworm", arch], capture_output=True,
                                 text=True, check=False)
            self.assertEqual(run.returncode, 1, run.stdout)
            self.assertIn(f"packages: {said}: ", run.stderr)

    def test_a_tarball_that_can_not_be_made_is_refused_at_once(self):
        own = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                             check=True).stdout.strip()
        foreign = "amd64" if own == "arm64" else "arm64"
        for dist, arch, build, said in (
                ("trixie", own, "", "made on bookworm"), ("bookworm", foreign, "", f"for {foreign}"),
                ("bookworm", own, "/no/such/build", "finished build")):
            run = subprocess.run(
                [TOP / "tools/packages.sh", dist, arch], capture_output=True, text=True, check=False,
                env={**os.environ, "TARBALL": "1", "BUILD": build})
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertRegex(run.stderr, f"packages: a tarball .*{said}")

    def test_a_comparison_makes_the_tarball_of_its_own_architecture_alone(self):
        own = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                             check=True).stdout.strip()
        foreign = "amd64" if own == "arm64" else "arm64"
        with tempfile.TemporaryDirectory() as directory:
            tools = pathlib.Path(directory) / "tools"
            tools.mkdir()
            shutil.copy(TOP / "tools/packages_twice.sh", tools)
            (tools / "packages.sh").write_text(
                "#!/bin/sh\necho \"$1-$2 ${TARBALL:-none}\" >>made\n"
                "result=${RESULT:-build/packages/$1-$2/result}\nmkdir -p \"$result\"\ncd \"$result\"\n"
                "echo same >package\nsha256sum package >SHA256SUMS\n")
            (tools / "packages.sh").chmod(0o755)
            for arguments in ((), ("bookworm", foreign), ("trixie", own)):
                subprocess.run([tools / "packages_twice.sh", *arguments], check=True,
                               stdout=subprocess.DEVNULL, env={**os.environ, "TARBALL": "1"})
            made = (pathlib.Path(directory) / "made").read_text().splitlines()
            self.assertEqual(made, [f"bookworm-{own} 1"] * 2 + [f"bookworm-{foreign} none"] * 2 +
                             [f"trixie-{own} none"] * 2)

    def test_make_gives_an_architecture_without_a_release_of_debian(self):
        run = subprocess.run(["make", "-n", "-C", TOP, "packages", "ARCH=arm64"], capture_output=True,
                             text=True, check=True)
        self.assertIn("tools/packages.sh bookworm arm64\n", run.stdout)

    def test_a_cross_build_is_not_given_a_busybox_of_the_machine(self):
        """The image of plimsoll-examples has the packages' architecture."""
        layout = text("packaging/debian_layout.sh")
        check = re.search(r"^machine\(\).*?^fi$", layout, re.M | re.S).group(0)
        with tempfile.TemporaryDirectory() as build:
            program = pathlib.Path(build) / "bin/plimsoll"
            program.parent.mkdir()
            busybox = pathlib.Path("/bin/busybox").read_bytes()[:64]
            for machine, status in ((busybox[18:20], 0), (b"\x16\0", 1)):
                program.write_bytes(busybox[:18] + machine + busybox[20:])
                run = subprocess.run(["sh", "-eu", "-c", f"build={build}\n{check}"], text=True,
                                     capture_output=True, check=False)
                self.assertEqual(run.returncode, status, run.stderr)
            self.assertIn("the packages are for IBM S/390", run.stderr)

    def test_programs_of_a_run_are_dependencies(self):
        control = text("debian/control")
        for package in listed("run"):
            self.assertTrue(any(f"\n {name}" in control for name in package), package)

    def test_the_documented_first_command_of_a_node_takes_its_own_release(self):
        block = text("docs/kubernetes.md").split("## From a fresh node to a pod")[1].split("```sh\n")[1]
        first = re.match(r"(.*\\\n)*.*\n", block).group(0)
        with tempfile.TemporaryDirectory() as directory:
            release = pathlib.Path(directory) / "os-release"
            command = f'curl() {{ echo "$@"; }}\n{first.replace("/etc/os-release", str(release))}'
            for codename in ("bookworm", "trixie"):
                release.write_text(f'PRETTY_NAME="Debian GNU/Linux"\nVERSION_CODENAME={codename}\n')
                run = subprocess.run(["sh", "-eu", "-c", command], text=True, capture_output=True, check=False)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertTrue(run.stdout.endswith(
                    " -o /etc/apt/sources.list.d/plimsoll.sources "
                    f"https://packages.example.com/plimsoll-{codename}.sources\n"), run.stdout)
            release.unlink()
            self.assertNotEqual(subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode, 0)

    def test_the_version_is_that_of_the_programs(self):
        version = re.search(r"project\(plimsoll VERSION (\S+)", text("CMakeLists.txt")).group(1)
        self.assertTrue(text("debian/changelog").startswith(f"plimsoll ({version}) "))

    def test_schemas_are_found_where_debian_rules_looks(self):
        numbers = re.findall(r"^    // (\d+): ", text("src/runtime/store/schema.cc"), re.M)
        migrations = text("src/runtime/store/schema.cc").count('{R"sql(')
        self.assertEqual([int(number) for number in numbers], list(range(1, migrations + 1)))
        self.assertRegex(text("src/agent/pods/records/pod_store.cc"),
                         re.compile(r"^constexpr int64_t kSchemaVersion = \d+;", re.M))

    def collected_licences(self):
        """The files that packaging/debian_layout.sh collects for each package, of a made-up build."""
        layout = text("packaging/debian_layout.sh")
        function = re.search(r"^declare_licences\(\).*?^\}\n", layout, re.M | re.S).group(0)
        calls = re.findall(r"^declare_licences .*$", layout, re.M)
        used = re.search(r"plimsoll_use_archives\((.*)\)", text("cmake/Dependencies.cmake")).group(1)
        inputs = " ".join(f"/usr/lib/{platform.machine()}-linux-gnu/{archive}"
                          for name in used.split() for archive in ARCHIVES[name][0])
        static = text("packaging/shared-libraries").splitlines()[-1].rstrip(":").split()
        with tempfile.TemporaryDirectory() as directory:
            top = pathlib.Path(directory)
            for name in ("bin", "debian", "share/doc"):
                (top / name).mkdir(parents=True)
            for name in ("packaging", "NOTICE"):
                (top / name).symlink_to(TOP / name)
            ninja = "rule link\n  command = false\n"
            for program in {word for call in calls for word in call.split()[3:]}:
                shutil.copy("/bin/busybox" if program in static else "/bin/true", top / "bin" / program)
                ninja += f"build bin/{program}: link {inputs}\nbuild {program}: phony bin/{program}\n"
            (top / "build.ninja").write_text(ninja)
            subprocess.run(["sh", "-eu", "-c", "\n".join(["build=. share=share", function, *calls])],
                           cwd=top, check=True, stdout=subprocess.DEVNULL)
            for path in (top / "share/doc").iterdir():
                self.assertEqual((path / "NOTICE").read_text(), text("NOTICE"))
            return {path.name: {licence.name for licence in (path / "licences").iterdir()}
                    for path in (top / "share/doc").iterdir()}

    def test_packages_have_the_licences_of_the_works_that_notice_names(self):
        works = re.findall(r"^  (\S.*?)  +\S", text("NOTICE"), re.M)
        self.assertEqual(set(works), set(WORKS))
        collected = self.collected_licences()
        self.assertEqual(set(collected), {"plimsoll", "plimsoll-agent", "plimsoll-kube", "plimsoll-examples"})
        for package, licences in collected.items():
            named = set()
            for work, patterns in WORKS.items():
                if patterns is None or (work.startswith("BusyBox") and package != "plimsoll-examples") or (
                        work.endswith("(static programs)") and package != "plimsoll"):
                    continue
                for pattern in patterns.split("|"):
                    found = {licence for licence in licences if re.fullmatch(pattern, licence)}
                    self.assertTrue(found, f"{package} lacks the licence of {work}: {pattern}")
                    named |= found
            self.assertEqual(licences - named, set(), f"{package}: NOTICE doesn't name them")

    def test_a_library_without_its_package_is_no_missing_licence(self):
        with tempfile.TemporaryDirectory() as directory:
            query = pathlib.Path(directory) / "dpkg-query"
            query.write_text('#!/bin/sh\ncase "$*" in *libfmt*) exit 1 ;; esac\necho installed\n')
            query.chmod(0o755)
            run = subprocess.run([TOP / "packaging/licences.sh", directory, f"{directory}/licences", ""],
                                 capture_output=True, text=True, check=False,
                                 env={"PATH": f"{directory}:/usr/bin:/bin"})
            self.assertEqual(run.returncode, 1)
            self.assertIn("no package libfmt-dev is installed", run.stderr)

    def test_debhelper_leaves_units_alone(self):
        calls = [line for line in text("debian/rules").splitlines()
                 if line.startswith("\tdh_installsystemd")]
        self.assertEqual(len(calls), 3)
        for call in calls:
            # Without the last one debhelper's preinst stops a unit that runs, for good.
            self.assertIn("--no-enable --no-start --no-stop-on-upgrade", call)

    def build_text(self, build_type, commit):
        """What --version prints after the name, in a build of a directory with this file `commit`."""
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "cmake").mkdir()
            (pathlib.Path(directory) / "cmake/commit").write_text(commit)
            script = pathlib.Path(directory) / "script.cmake"
            script.write_text(f"include({TOP}/cmake/Version.cmake)\nmessage(${{PLIMSOLL_BUILD}})\n")
            return subprocess.run(
                ["cmake", f"-DCMAKE_BUILD_TYPE={build_type}", "-DPROJECT_VERSION=1.2.3",
                 f"-DPROJECT_SOURCE_DIR={directory}", "-P", script], text=True,
                stderr=subprocess.PIPE, check=True).stderr.strip()

    def test_release_builds_name_their_commit(self):
        commit = "0123456789abcdef0123456789abcdef01234567\n"
        self.assertEqual(self.build_text("Release", commit), "1.2.3 (commit 0123456789ab)")
        self.assertEqual(self.build_text("Debug", commit), "1.2.3")
        # Neither an archive of git's nor a clone.
        self.assertEqual(self.build_text("Release", "$Format:%H$\n"), "1.2.3")
        self.assertRegex(text("cmake/commit"), r"^(\$Format:%H\$|[0-9a-f]{40})\n$")

    def job_says(self, build, printed):
        """How tests/vm/packages_job ends for a program whose --version prints this."""
        job = text("tests/vm/packages_job")
        check = re.search(r"^is_of_build\(\) \{.*?^\}\n", job, re.M | re.S).group(0)
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory) / "plimsoll"
            program.write_text(f"#!/bin/sh\necho '{printed}'\n")
            program.chmod(0o755)
            return subprocess.run(
                ["bash", "-u", "-c", f'build=$1\nfail() {{ echo "$*"; exit 1; }}\n{check}is_of_build plimsoll',
                 "bash", build], text=True, capture_output=True, check=False,
                env={"PATH": f"{directory}:/usr/bin:/bin"})

    def test_the_job_of_packages_compares_version_and_commit(self):
        sys.path.insert(0, str(TOP / "tests/vm"))
        self.addCleanup(sys.path.pop, 0)
        sys.dont_write_bytecode = True
        import packages
        named = "plimsoll 1.2.3 (commit 0123456789ab)"
        unreleased = packages.build_text(TOP, "1.2.3~77.g01234567~deb12")
        for build, printed, passes in (
                (unreleased, named, True),
                (unreleased, "plimsoll 1.2.3 (commit 01234567fedc)", True),
                (unreleased, "plimsoll 1.2.3 (commit 1123456789ab)", False),
                (unreleased, "plimsoll 1.2.3 (commit 0123456789ab+changes)", False),
                (unreleased, "plimsoll 1.2.3", False),
                (unreleased, "plimsoll 1.2.4 (commit 0123456789ab)", False),
                (packages.build_text(TOP, "1.2.3~deb12"), named, True),
                (packages.build_text(TOP, "1.2.3~deb12"), "plimsoll 1.2.3", False)):
            with self.subTest(build=build, printed=printed):
                run = self.job_says(build, printed)
                self.assertEqual((run.returncode, run.stderr), (0 if passes else 1, ""))
                self.assertEqual(run.stdout, "" if passes else f"version: {printed}, expected: plimsoll {build}\n")
        release = re.search(r"project\(plimsoll VERSION (\S+)", text("CMakeLists.txt")).group(1)
        debug = packages.build_text(None, "0.0.1")
        self.assertEqual(self.job_says(debug, f"plimsoll {release}").returncode, 0)
        self.assertEqual(self.job_says(debug, f"plimsoll {release}1").returncode, 1)
        for program in ("plimsoll", "plimsolld", "plimsoll-agent", "plimsoll-kube"):
            self.assertRegex(text("tests/vm/packages_job"), rf"(?m)^  is_of_build .*\b{program}\b")

    def preinst(self, package, configuration, schema, known=3, header=b"SQLite format 3\0", where=None):
        """Runs a package's preinst on made-up directories, whose database has this schema."""
        with tempfile.TemporaryDirectory() as directory:
            top = pathlib.Path(directory)
            for name in ("etc", "lib", "other", "standalone"):
                (top / name).mkdir()
            name = {"plimsoll": "plimsolld.yaml", "plimsoll-agent": "agent.yaml"}[package]
            (top / "etc" / name).write_text(configuration.replace("OTHER", f"{top}/other"))
            database = {"plimsoll": "plimsoll.db", "plimsoll-agent": "agent.db"}[package]
            where = where or ("other" if "OTHER" in configuration else "lib")
            if schema is not None:
                (top / where / database).write_bytes(
                    header.ljust(60, b"x") + schema.to_bytes(4, "big") + b"x" * 32)
            script = text(f"debian/{package}.preinst").replace("#SCHEMA#", str(known))
            script = script.replace("/etc/plimsoll", f"{top}/etc")
            script = script.replace(f"/var/lib/{package}}}", f"{top}/lib}}")
            script = script.replace("/var/lib/plimsoll/standalone", f"{top}/standalone")
            return subprocess.run(["sh", "-c", script, "preinst", "upgrade", "0"], text=True,
                                  capture_output=True, check=False)

    def stub(self, top, name, script):
        (top / name).write_text(f"#!/bin/sh\n{script}\n")
        (top / name).chmod(0o755)

    def maintainer(self, top, package, script, *arguments):
        """Runs a package's script with the programs and the /run in `top`."""
        code = text(f"debian/{package}.{script}")
        for path, replacement in (("/run/", "run/"), ("/usr/bin/", ""), ("/usr/local/", "none/"),
                                  ("/usr/share/debconf", "none")):
            code = code.replace(path, f"{top}/{replacement}")
        return subprocess.run(["sh", "-c", code, script, *arguments], text=True, capture_output=True,
                              check=False, env={"PATH": f"{top}:/usr/bin:/bin"})

    def test_a_removal_that_is_given_up_starts_again_what_ran(self):
        for package, own in UNITS.items():
            for ran in [[], *([unit] for unit in own), own]:
                with self.subTest(package=package, ran=ran), tempfile.TemporaryDirectory() as top:
                    top = pathlib.Path(top)
                    (top / "run/systemd/system").mkdir(parents=True)
                    for unit in ran:
                        (top / unit).touch()
                    self.stub(top, "systemctl", f"""[ "$2" != is-active ] || exec test -e {top}/$3
[ "$1" != start ] || {{ shift; cd {top}; touch "$@"; }}""")
                    self.stub(top, "deb-systemd-invoke", f"cd {top}; shift; rm -f \"$@\"")
                    for script, arguments, running in (("prerm", ["remove"], []),
                                                       ("postinst", ["abort-remove"], ran),
                                                       ("postinst", ["abort-deconfigure"], ran),
                                                       ("prerm", ["remove"], [])):
                        done = self.maintainer(top, package, script, *arguments)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertEqual([unit for unit in own if (top / unit).exists()], running)

    def test_an_upgrade_whose_daemon_does_not_start_says_why(self):
        for package, own in UNITS.items():
            program = own[-1].removesuffix(".service")
            for starts in (True, False):
                with self.subTest(package=package, starts=starts), \
                        tempfile.TemporaryDirectory() as top:
                    top = pathlib.Path(top)
                    (top / "run/systemd/system").mkdir(parents=True)
                    self.stub(top, "systemctl", "exit 0")
                    self.stub(top, "deb-systemd-invoke",
                              f"echo \"$@\" >>{top}/asked; exit {0 if starts else 1}")
                    self.stub(top, program, 'echo "$*: unknown key \'old\'"; exit 2')
                    done = self.maintainer(top, package, "postinst", "configure", "0.1")
                    self.assertEqual((done.returncode, done.stdout), (0, ""))
                    asked = (top / "asked").read_text().split()
                    self.assertEqual((asked[0], sorted(asked[1:])), ("try-restart", sorted(own)))
                    if starts:
                        self.assertEqual(done.stderr, "")
                        continue
                    for said in ("--check-config: unknown key 'old'\n", "pods run on",
                                 f"\njournalctl -u {program})", f": systemctl restart {program}\n"):
                        self.assertIn(said, done.stderr)

    def test_without_systemd_an_installation_asks_it_nothing(self):
        for package, own in UNITS.items():
            with tempfile.TemporaryDirectory() as top:
                top = pathlib.Path(top)
                for name in ("systemctl", "deb-systemd-invoke", own[-1].removesuffix(".service")):
                    self.stub(top, name, f"echo {name} \"$@\" >>{top}/asked; exit 1")
                for arguments in (["configure", ""], ["configure", "0.1"], ["abort-remove"],
                                  ["abort-upgrade", "0.1"]):
                    done = self.maintainer(top, package, "postinst", *arguments)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""),
                                     arguments)
                self.assertFalse((top / "asked").exists(), package)

    def unit(self, name):
        """The keys of a unit's file, with their values."""
        pairs = [line.partition("=") for line in text(f"packaging/{name}.service.in").splitlines()
                 if not line.startswith(("#", "["))]
        return {key: value for key, _, value in pairs if key}

    def test_units_outlast_faults_and_wait_for_their_disks(self):
        for package in UNITS:
            unit = self.unit("plimsolld" if package == "plimsoll" else package)
            self.assertEqual((unit["Type"], unit["StartLimitIntervalSec"], unit["Restart"],
                              unit["RestartSec"]), ("notify", "0", "always", "1"), package)
            self.assertIn("local-fs.target", unit["After"].split())
        # Containers are none of a daemon's own processes, and run on.
        for name in ("plimsolld", "plimsoll-agent"):
            unit = self.unit(name)
            self.assertEqual((unit["KillMode"], unit["TimeoutStartSec"]), ("process", "infinity"))
            self.assertNotIn("RuntimeDirectory", unit)

        def default(file, key):
            return re.search(rf"^{key}: (\S+)", text(f"packaging/{file}.yaml"), re.M).group(1)
        self.assertEqual(self.unit("plimsolld")["RequiresMountsFor"].split(),
                         [default("plimsolld", "run_dir"), default("plimsolld", "state_dir")])
        self.assertEqual(self.unit("plimsoll-agent")["RequiresMountsFor"],
                         default("plimsoll-agent", "stateDirectory"))
        # Which systemd takes for RequiresMountsFor= too: systemd.unit(5).
        self.assertEqual("/var/lib/" + self.unit("plimsoll-kube")["StateDirectory"],
                         default("plimsoll-kube", "stateDirectory"))
        code = re.search(r"kExitOfAKubeletsNode = (\d+);", text("src/agent/kubelet_check.h")).group(1)
        self.assertEqual(self.unit("plimsoll-agent")["RestartPreventExitStatus"], code)

    def test_a_purge_finds_programs_by_their_path(self):
        script = text("debian/plimsoll.postrm")
        running = re.search(r"^running\(\) \{.*?^\}\n", script, re.M | re.S).group(0)
        with tempfile.TemporaryDirectory() as directory:
            sleep = pathlib.Path(directory) / "a sleep"
            shutil.copy(shutil.which("sleep"), sleep)
            for removed in (False, True):
                with subprocess.Popen([sleep, "100"]) as process:
                    try:
                        if removed:
                            sleep.unlink()
                        found = subprocess.run(
                            ["sh", "-c", f'set -e\nroot=$(stat -Lc %d:%i /.)\n{running}running "$1"', "sh", sleep],
                            capture_output=True, text=True, check=True).stdout
                        self.assertEqual(found, f"{process.pid}\n")
                    finally:
                        process.kill()

    def test_a_purge_stops_slices_where_systemd_runs(self):
        script = text("debian/plimsoll.postrm")
        stop = re.search(r"^stop_slices\(\) \{.*?^\}\n", script, re.M | re.S).group(0)
        self.assertRegex(script, r"remove_all\(\) \{\n  stop_slices\n")
        with tempfile.TemporaryDirectory() as directory:
            systemctl = pathlib.Path(directory) / "systemctl"
            # Where there are none it fails.
            systemctl.write_text(f"#!/bin/sh\necho \"$@\" >>{directory}/called\nexit 5\n")
            systemctl.chmod(0o755)
            run = ["sh", "-c", "set -e\n" + stop.replace("/run/", f"{directory}/run/") + "stop_slices"]
            environment = {"PATH": f"{directory}:/usr/bin:/bin"}
            self.assertEqual(subprocess.run(run, env=environment, check=False).returncode, 0)
            self.assertFalse((pathlib.Path(directory) / "called").exists())
            (pathlib.Path(directory) / "run/systemd/system").mkdir(parents=True)
            self.assertEqual(subprocess.run(run, env=environment, check=False).returncode, 0)
            self.assertEqual((pathlib.Path(directory) / "called").read_text(), "stop plimsoll.slice\n")

    def test_preinst_refuses_a_newer_database_alone(self):
        for package, key in (("plimsoll", "state_dir"), ("plimsoll-agent", "stateDirectory")):
            for configuration in ("", f"{key}: OTHER\n", f'{key}: "OTHER" # a comment\n',
                                  f"{key}: 'OTHER'\n"):
                for schema in (None, 0, 3):
                    done = self.preinst(package, configuration, schema)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), configuration)
                for schema in (4, 256, 1 << 24):
                    done = self.preinst(package, configuration, schema)
                    self.assertEqual(done.returncode, 1, configuration)
                    self.assertIn(f"schema {schema}, this version knows up to 3", done.stderr)

    def test_preinst_looks_at_the_database_of_commands_without_a_daemon(self):
        for configuration in ("", "state_dir: OTHER\n"):
            self.assertEqual(self.preinst("plimsoll", configuration, 3, where="standalone").returncode, 0)
            done = self.preinst("plimsoll", configuration, 4, where="standalone")
            self.assertEqual(done.returncode, 1)
            self.assertIn("standalone/plimsoll.db was written by a newer", done.stderr)

    def test_preinst_takes_a_damaged_database_for_none(self):
        for package in ("plimsoll", "plimsoll-agent"):
            for header in (b"", b"\0\0SQLite format", b"\xffQLite format 3"):
                done = self.preinst(package, "", 4, header=header)
                self.assertEqual((done.returncode, done.stderr), (0, ""), header)

    def test_the_tarballs_script_reads_schemas_as_preinst_does(self):
        def lines(name, key):
            script = text(name)
            found = re.findall(r"^ *(state=\$\(sed .*?|schema=\$\(od .*)(?: \S*/etc/plimsoll\S* .*)?$",
                               script, re.M)
            self.assertEqual(len(found), 2, name)
            return [line.replace(key, "KEY") for line in found]

        expected = lines("packaging/tarball/install.sh", "$2")
        self.assertEqual(lines("debian/plimsoll.preinst", "state_dir"), expected)
        self.assertEqual(lines("debian/plimsoll-agent.preinst", "stateDirectory"), expected)


# In a mount namespace of its own, where everything that a purge may touch is a new tmpfs. The volume is a bind of a
# directory outside the state directory, with a mount below it. No package's tool says that this is a chroot, so the
# test's does: a purge then leaves processes, groups and rules alone.
PURGE = """set -eu
script=$1 state=$2 volume=$3
mount -t tmpfs none /var/lib
mount -t tmpfs none /run
[ ! -d /etc/plimsoll ] || mount -t tmpfs none /etc/plimsoll
mkdir -p "$volume/below" "$state/pods/a 1pod/1" "$state/images"
echo kept >"$volume/file"
mount --bind "$volume" "$volume"
mount --make-shared "$volume"
mount -t tmpfs none "$volume/below"
echo kept >"$volume/below/file"
mount --rbind "$volume" "$state/pods/a 1pod/1"
sh "$script" purge
[ ! -e "$state" ]
cat "$volume/file" "$volume/below/file"
"""


@unittest.skipUnless(os.geteuid() == 0, "mounts need root")
class PurgeTest(unittest.TestCase):
    def test_a_volume_of_the_hosts_outlives_the_purge(self):
        for package in ("plimsoll", "plimsoll-agent"):
            with self.subTest(package), tempfile.TemporaryDirectory() as directory:
                chroot = pathlib.Path(directory) / "ischroot"
                chroot.write_text("#!/bin/sh\n")
                chroot.chmod(0o755)
                run = subprocess.run(
                    ["unshare", "--mount", "--propagation", "private", "sh", "-c", PURGE, "sh",
                     TOP / f"debian/{package}.postrm", f"/var/lib/{package}",
                     f"{directory}/volume"],
                    capture_output=True, text=True, check=False,
                    env={**os.environ, "PATH": f"{directory}:{os.environ['PATH']}",
                         "PLIMSOLL_PURGE_PODS": "1"})
                self.assertEqual((run.returncode, run.stdout), (0, "kept\nkept\n"), run.stderr)


if __name__ == "__main__":
    unittest.main()
