// plimsolld as a program: its output, its exit, its leftovers.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"
#include "service/directory_lock.h"

namespace plimsoll::daemon {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const absl::Duration kPatience = absl::Seconds(20);

// A running daemon with its own directories below `dir`.
class ProgramTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (Child& child : started_) {
      child.Signal(SIGKILL).IgnoreError();
      EXPECT_TRUE(child.Wait(absl::Now() + kPatience).ok());
    }
    EXPECT_TRUE(linux::UnmountBelow(host_, dir_.path()).ok());
  }

  // Flags for a daemon on <dir>/state and <dir>/run.
  std::vector<std::string> Flags(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv = {PLIMSOLLD,
                                     "--config",
                                     dir_.path() + "/config.yaml",
                                     "--state-dir",
                                     dir_.path() + "/state",
                                     "--run-dir",
                                     dir_.path() + "/run",
                                     "--cgroup-parent",
                                     "/plimsoll-test-daemon"};
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  }

  void SetUp() override { ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", "{}").ok()); }

  RunResult Run(const std::vector<std::string>& argv) {
    Command command;
    command.argv = argv;
    absl::StatusOr<RunResult> result = RunProgram(command, {.timeout = kPatience});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(RunResult());
  }

  // Starts one and waits until it serves. Its log is <dir>/log.
  Child* Start(std::vector<std::string> argv, const std::vector<std::string>& environment = {}) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    const UniqueFd log = dir_.root().OpenFile("log", O_WRONLY | O_CREAT | O_APPEND, 0600).value();
    argv.insert(argv.end(), {"--ready-fd", "3"});
    Command command;
    command.argv = std::move(argv);
    command.descriptors = {{log.get(), 1}, {log.get(), 2}, {writer.get(), 3}};
    command.environment.insert(command.environment.end(), environment.begin(), environment.end());
    absl::StatusOr<Child> child = Spawn(command);
    EXPECT_TRUE(child.ok()) << child.status();
    writer.Reset();
    char byte = 0;
    if (read(reader.get(), &byte, 1) != 1) {
      ADD_FAILURE() << "it did not start: " << Log();
      return nullptr;
    }
    started_.push_back(*std::move(child));
    return &started_.back();
  }

  std::string Log() const { return dir_.root().Read("log").value_or(""); }

  ::testing::AssertionResult EndsWell(Child* child) {
    const absl::StatusOr<ExitStatus> exit = child->Wait(absl::Now() + kPatience);
    if (exit.ok() && exit->success()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << (exit.ok() ? exit->ToString() : std::string(exit.status().message())) << Log();
  }

  std::vector<std::string> Mounts() const {
    std::vector<std::string> mine;
    const std::vector<linux::MountInfo> all = linux::ReadMounts(host_).value();
    for (const linux::MountInfo& mount : all) {
      if (absl::StartsWith(mount.mount_point, dir_.path())) mine.push_back(mount.mount_point);
    }
    return mine;
  }

  bool Answers(const std::string& path) const {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }

  const FsRoot host_ = *FsRoot::Open("/");
  TestDir dir_;
  std::vector<Child> started_;
};

TEST_F(ProgramTest, AFullOrReadOnlyDirectoryIsNamedWithItsRemedy) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  for (const char* which : {"state", "run"}) {
    const std::string directory = absl::StrCat(dir_.path(), "/", which);
    ASSERT_TRUE(dir_.root().MakeDirs(which, 0755).ok());
    ASSERT_EQ(mount("full", directory.c_str(), "tmpfs", 0, "nr_inodes=1"), 0);
    EXPECT_THAT(Run(Flags()).err,
                AllOf(HasSubstr("No space left on device"),
                      HasSubstr(absl::StrCat("make room on the file system of the ", which,
                                             " directory ", directory))));
    ASSERT_EQ(mount("full", directory.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
    EXPECT_THAT(Run(Flags()).err, HasSubstr(absl::StrCat("mount read-write the file system of the ",
                                                         which, " directory ", directory)));
    ASSERT_EQ(umount(directory.c_str()), 0);
    EXPECT_THAT(Mounts(), IsEmpty());
  }
}

TEST_F(ProgramTest, AStateDirectoryOnOverlayfsIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  for (const char* each : {"lower", "upper", "work", "state"}) {
    ASSERT_TRUE(dir_.root().MakeDirs(each, 0755).ok());
  }
  const std::string directory = absl::StrCat(dir_.path(), "/state");
  const std::string layers = absl::StrCat("lowerdir=", dir_.path(), "/lower,upperdir=", dir_.path(),
                                          "/upper,workdir=", dir_.path(), "/work");
  const int mounted = mount("overlay", directory.c_str(), "overlay", 0, layers.c_str());
  if (mounted != 0 && errno == EINVAL) GTEST_SKIP() << "no overlay is possible in " << dir_.path();
  ASSERT_EQ(mounted, 0) << strerror(errno);
  EXPECT_THAT(Run(Flags()).err,
              HasSubstr(absl::StrCat("the state directory ", directory, " is on overlayfs")));
  ASSERT_EQ(umount(directory.c_str()), 0);
  EXPECT_THAT(Mounts(), IsEmpty());
}

TEST_F(ProgramTest, AFullStateDirectoryIsNamedWhereTheDatabaseFindsItFull) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  const std::string directory = absl::StrCat(dir_.path(), "/state");
  ASSERT_TRUE(dir_.root().MakeDirs("state", 0755).ok());
  ASSERT_EQ(mount("full", directory.c_str(), "tmpfs", 0, "size=8192"), 0);
  ASSERT_TRUE(dir_.root().ReplaceFile("state/fill", std::string(4096, 'x')).ok());
  EXPECT_THAT(Run(Flags()).err,
              AllOf(HasSubstr("plimsoll.db: No space left on device"),
                    HasSubstr(absl::StrCat("make room on the file system of the state directory ",
                                           directory))));
  ASSERT_EQ(umount(directory.c_str()), 0);
  EXPECT_THAT(Mounts(), IsEmpty());
}

TEST_F(ProgramTest, CheckConfigSaysWhetherItIsRight) {
  const RunResult right = Run(Flags({"--check-config"}));
  EXPECT_EQ(right.exit.code, 0);
  EXPECT_EQ(right.out, "configuration is valid\n");

  ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", "workers: 4\nlog:\n  levl: info\n").ok());
  const RunResult wrong = Run(Flags({"--check-config"}));
  EXPECT_EQ(wrong.exit.code, 2);
  EXPECT_EQ(wrong.err, absl::StrCat("plimsolld: ", dir_.path(),
                                    "/config.yaml:3:3: unknown key 'log.levl'; did you mean "
                                    "'level'? Valid here: level, format\n"));
  // A start reports the same.
  const RunResult started = Run(Flags());
  EXPECT_EQ(started.exit.code, 2);
  EXPECT_EQ(started.err, wrong.err);
  EXPECT_FALSE(dir_.root().Exists("state"));
}

TEST_F(ProgramTest, CheckConfigKnowsWhatCanBeASlice) {
  const std::string file = dir_.path() + "/config.yaml";
  ASSERT_TRUE(
      dir_.root()
          .ReplaceFile("config.yaml", "cgroup_driver: systemd\ncgroup_parent: /pods.slice\n")
          .ok());
  // If systemd doesn't manage the groups here, the error gives the key's place.
  const RunResult here = Run({PLIMSOLLD, "--config", file, "--check-config"});
  if (here.exit.code != 0) {
    EXPECT_THAT(here.err, ::testing::MatchesRegex(
                              ".*config.yaml:1:1: cgroup_driver systemd: .*(cgroup v2|bus).*\n"));
  }
  // The flags set another parent.
  const RunResult wrong = Run(Flags({"--check-config"}));
  EXPECT_EQ(wrong.exit.code, 2);
  EXPECT_THAT(wrong.err,
              HasSubstr("cgroup_driver systemd: cgroup_parent /plimsoll-test-daemon must "
                        "be a slice in its place"));
  EXPECT_EQ(Run(Flags()).err, wrong.err);
}

TEST_F(ProgramTest, CheckConfigHoldsThePartitionAgainstTheMachine) {
  ASSERT_TRUE(
      dir_.root().ReplaceFile("config.yaml", "nodeResources: {cpus: {list: \"4000\"}}\n").ok());
  const RunResult checked = Run(Flags({"--check-config"}));
  EXPECT_NE(checked.exit.code, 0);
  EXPECT_THAT(checked.err, HasSubstr("cpus.list: CPUs 4000 are not there"));
  const RunResult placed =
      Run({PLIMSOLLD, "--config", dir_.path() + "/config.yaml", "--check-config"});
  EXPECT_THAT(placed.err, HasSubstr("/config.yaml:1:24: nodeResources: cpus.list: CPUs 4000"));
}

// Finds what a start would refuse: a daemon that doesn't come back leaves its pods alone.
TEST_F(ProgramTest, CheckConfigTellsAllThatTheMachineLacksWithItsPlace) {
  const std::string file = dir_.path() + "/config.yaml";
  ASSERT_TRUE(dir_.root()
                  .ReplaceFile("config.yaml",
                               "crun: /none/crun\nregistries:\n  file: /none/registries.conf\n"
                               "socket_group: no-such-group\nstreaming: {key: /none}\n")
                  .ok());
  const RunResult checked = Run({PLIMSOLLD, "--config", file, "--check-config"});
  EXPECT_EQ(checked.exit.code, 2);
  EXPECT_THAT(checked.err, HasSubstr(file + ":1:1: crun: no program at /none/crun"));
  EXPECT_THAT(checked.err, HasSubstr(file + ":3:3: registries.file: read /none/registries.conf"));
  EXPECT_THAT(checked.err, HasSubstr(file + ":4:1: socket_group: there is no group"));
  EXPECT_THAT(checked.err, HasSubstr(file + ":5:1: streaming.certificate and streaming.key:"));
}

TEST_F(ProgramTest, CheckConfigAsksTheOciRuntime) {
  const std::string file = dir_.path() + "/config.yaml";
  ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", "crun: /bin/echo\n").ok());
  const RunResult checked = Run({PLIMSOLLD, "--config", file, "--check-config"});
  EXPECT_EQ(checked.exit.code, 2);
  EXPECT_THAT(checked.err, HasSubstr(file + ":1:1: crun: /bin/echo is no OCI runtime"));
  ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", "crun: /bin/false\n").ok());
  EXPECT_THAT(Run({PLIMSOLLD, "--config", file, "--check-config"}).err,
              HasSubstr(file + ":1:1: crun: the OCI runtime doesn't run: /bin/false"));
  // The beginning of a program for a machine that there is none of.
  const std::string crun = dir_.path() + "/crun";
  ASSERT_TRUE(dir_.root()
                  .ReplaceFile("crun",
                               std::string("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\xff\xff", 20) +
                                   std::string(44, '\0'),
                               0755)
                  .ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", absl::StrCat("crun: ", crun, "\n")).ok());
  EXPECT_THAT(
      Run({PLIMSOLLD, "--config", file, "--check-config"}).err,
      HasSubstr(absl::StrCat("crun: the OCI runtime doesn't run: run ", crun,
                             ": Exec format error; it is for machine 65535 of elf.h, and ")));
}

TEST_F(ProgramTest, CheckConfigLooksIntoClassFiles) {
  const std::string file = dir_.path() + "/blockio.yaml";
  ASSERT_TRUE(dir_.root()
                  .ReplaceFile("config.yaml", absl::StrCat("classes:\n  blockio: {config_file: ",
                                                           file, ", default: zz}\n"))
                  .ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("blockio.yaml", "Classes: {slow: []}\n").ok());
  EXPECT_THAT(Run(Flags({"--check-config"})).err, HasSubstr("zz"));
  ASSERT_TRUE(dir_.root().ReplaceFile("blockio.yaml", "Classes: {zz: []}\n").ok());
  EXPECT_EQ(Run(Flags({"--check-config"})).exit.code, 0);
  ASSERT_TRUE(dir_.root().RemoveFile("blockio.yaml").ok());
  // A start reports it in the same words and ends with the same code.
  const RunResult checked = Run(Flags({"--check-config"}));
  EXPECT_EQ(checked.exit.code, 2);
  EXPECT_THAT(checked.err, HasSubstr("blockio.yaml"));
  const std::string config = dir_.path() + "/config.yaml";
  EXPECT_THAT(Run({PLIMSOLLD, "--config", config, "--check-config"}).err,
              HasSubstr(config + ":2:13: classes.blockio.config_file: class file: open "));
  const RunResult started = Run(Flags());
  EXPECT_EQ(started.exit.code, 2);
  EXPECT_EQ(started.err, checked.err);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_THAT(Run(Flags({"--check-config"})).err, HasSubstr("is a FIFO, not a regular file"));
}

TEST_F(ProgramTest, CheckConfigTellsTheWarningsOfClassFiles) {
  const auto write = [this](const char* name, const char* text) {
    ASSERT_TRUE(dir_.root().ReplaceFile(name, text).ok());
  };
  write("blockio.yaml",
        "Classes: {slow: [{Devices: [/dev/none], ThrottleReadBps: 1M}]}\n---\nClasses: {more: "
        "[]}\n");
  write("rdt.yaml", "partitions: {p: {classes: {\"a b\": }}}\n");
  const std::string text = absl::StrCat(
      "classes:\n  blockio: {config_file: ", dir_.path(),
      "/blockio.yaml, pods: true}\n  rdt: {config_file: ", dir_.path(), "/rdt.yaml}\n");
  write("config.yaml", text.c_str());
  const RunResult checked = Run(Flags({"--check-config"}));
  EXPECT_EQ(checked.exit.code, 0) << checked.err;
  EXPECT_EQ(checked.out, "configuration is valid\n");
  const std::vector<std::string> lines = absl::StrSplit(checked.err, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines,
              Contains(StartsWith("plimsolld: warning: blockio class slow of a container: ")))
      << "the type's name, once";
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr(" blockio: "),
                                    HasSubstr("blockio.yaml: only the first document counts")))
                         .Times(1));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr(" rdt: "),
                                    HasSubstr("not every client can send the class name \"a b\"")))
                         .Times(1));
}

TEST_F(ProgramTest, CheckConfigLooksIntoCertificateAndKey) {
  const auto make = [this](const std::string& name) {
    return RunChecked({.argv = {"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                                "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=node",
                                "-keyout", absl::StrCat(dir_.path(), "/", name, ".key"), "-out",
                                absl::StrCat(dir_.path(), "/", name, ".pem")}})
        .status();
  };
  ASSERT_TRUE(make("a").ok());
  ASSERT_TRUE(make("b").ok());
  const auto use = [this](const std::string& certificate, const std::string& key) {
    const std::string text = absl::StrCat("streaming:\n  certificate: ", dir_.path(), "/",
                                          certificate, "\n  key: ", dir_.path(), "/", key, "\n");
    ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", text).ok());
  };
  use("a.pem", "a.key");
  const RunResult right = Run(Flags({"--check-config"}));
  EXPECT_EQ(right.exit.code, 0) << right.err;
  use("none.pem", "a.key");
  const RunResult none = Run(Flags({"--check-config"}));
  EXPECT_EQ(none.exit.code, 2);
  EXPECT_THAT(none.err, HasSubstr("streaming.certificate and streaming.key: the certificate"));
  EXPECT_THAT(none.err, HasSubstr("none.pem"));
  use("a.pem", "b.key");
  const RunResult other = Run(Flags({"--check-config"}));
  EXPECT_EQ(other.exit.code, 2);
  EXPECT_THAT(other.err, HasSubstr("b.key can't be used"));
  // A start reports the same.
  EXPECT_EQ(Run(Flags()).err, other.err);
}

TEST_F(ProgramTest, AnUnreadableConfigurationIsNamed) {
  ASSERT_TRUE(dir_.root().RemoveFile("config.yaml").ok());
  const RunResult result = Run(Flags());
  EXPECT_EQ(result.exit.code, 2);
  EXPECT_THAT(result.err, HasSubstr("configuration " + dir_.path() + "/config.yaml: "));
  EXPECT_THAT(result.err, HasSubstr("No such file or directory"));
}

TEST_F(ProgramTest, AMissingProgramIsNamedAndNothingIsLeft) {
  ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", "crun: /nonexistent/program\n").ok());
  const RunResult result = Run(Flags());
  EXPECT_EQ(result.exit.code, 2);
  EXPECT_THAT(result.err, HasSubstr("crun: no program at /nonexistent/program"));
  EXPECT_FALSE(dir_.root().Exists("state"));
  EXPECT_FALSE(dir_.root().Exists("run"));
  EXPECT_THAT(Mounts(), IsEmpty());
}

// A package whose helper programs are of another version; the mounts stand for its directory.
TEST_F(ProgramTest, AHalfInstalledPackageIsToldAndNothingIsLeft) {
  ASSERT_TRUE(dir_.root().MakeDirs("bin", 0755).ok());
  const auto bind = [this](const std::string& name) {
    const std::string from = absl::StrCat(
        std::string(PLIMSOLLD).substr(0, std::string(PLIMSOLLD).rfind('/')), "/", name);
    const std::string to = absl::StrCat(dir_.path(), "/bin/", name);
    ASSERT_TRUE(dir_.root().ReplaceFile("bin/" + name, "", 0755).ok());
    ASSERT_EQ(mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr), 0) << strerror(errno);
  };
  for (const char* name : {"plimsolld", "plimsoll-monitor", "plimsoll-exec", "plimsoll-pause"}) {
    bind(name);
  }
  std::vector<std::string> argv = Flags();
  argv[0] = dir_.path() + "/bin/plimsolld";
  const RunResult missing = Run(argv);
  EXPECT_EQ(missing.exit.code, 1);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("plimsoll-launch is missing"),
                                 HasSubstr("apt-get install --reinstall")));
  ASSERT_TRUE(dir_.root()
                  .ReplaceFile("bin/plimsoll-launch",
                               "#!/bin/sh\necho plimsoll-launch version 0.0.1\n", 0755)
                  .ok());
  const RunResult older = Run(argv);
  EXPECT_EQ(older.exit.code, 1);
  EXPECT_THAT(older.err, HasSubstr("/bin/plimsoll-launch is of version 0.0.1, and plimsolld of"));
  EXPECT_FALSE(dir_.root().Exists("state"));
  argv.emplace_back("--check-config");
  EXPECT_THAT(Run(argv).err, HasSubstr("plimsolld: node: error: " + dir_.path() +
                                       "/bin/plimsoll-launch is of version 0.0.1"));
  EXPECT_THAT(Run(argv).err, HasSubstr("plimsolld: node: warning: the program plimsoll-hwloc"));
}

TEST_F(ProgramTest, TheNodeIsCheckedWithoutADaemon) {
  ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", "network: {config_dir: /nonexistent}\n").ok());
  const RunResult checked = Run(Flags({"--check-node"}));
  EXPECT_EQ(checked.exit.code, 0) << checked.err;
  EXPECT_THAT(checked.out, AllOf(HasSubstr("\"ready\": false"), HasSubstr("\"check\": \"Network\""),
                                 HasSubstr("/nonexistent isn't there"), HasSubstr("\"remedy\": ")));
  const RunResult config = Run(Flags({"--check-config"}));
  EXPECT_EQ(config.exit.code, 0) << "the configuration is valid";
  EXPECT_THAT(config.err, HasSubstr("plimsolld: node: error: pods have no network"));
  EXPECT_FALSE(dir_.root().Exists("state"));
}

TEST_F(ProgramTest, ServesStopsAndLeavesTheMountToWorkloads) {
  Child* daemon = Start(Flags());
  ASSERT_NE(daemon, nullptr);
  const std::string socket = dir_.path() + "/run/plimsoll.sock";
  EXPECT_TRUE(Answers(socket));
  EXPECT_EQ(dir_.root().Stat("run/plimsoll.sock")->st_mode & 07777, 0660u);
  EXPECT_THAT(Mounts(), ElementsAre(dir_.path() + "/run"));
  EXPECT_THAT(Log(), HasSubstr("serving version="));

  ASSERT_TRUE(daemon->Signal(SIGTERM).ok());
  EXPECT_TRUE(EndsWell(daemon));
  EXPECT_FALSE(Answers(socket));
  EXPECT_THAT(Log(), HasSubstr("stopped"));
  EXPECT_THAT(Mounts(), ElementsAre(dir_.path() + "/run"));

  Child* again = Start(Flags());
  ASSERT_NE(again, nullptr);
  ASSERT_TRUE(again->Signal(SIGKILL).ok());
  ASSERT_TRUE(again->Wait(absl::Now() + kPatience).ok());
  EXPECT_NE(Start(Flags()), nullptr);  // whatever a killed daemon leaves
}

TEST_F(ProgramTest, ASecondDaemonIsToldOfTheFirst) {
  Child* first = Start(Flags());
  ASSERT_NE(first, nullptr);
  const RunResult state = Run(Flags({"--run-dir", dir_.path() + "/run2"}));
  EXPECT_EQ(state.exit.code, 2);  // a flag twice
  std::vector<std::string> other_run = Flags();
  other_run[6] = dir_.path() + "/run2";
  const RunResult same_state = Run(other_run);
  EXPECT_EQ(same_state.exit.code, 1);
  EXPECT_THAT(same_state.err,
              HasSubstr(absl::StrCat("another plimsolld (pid ", first->pid(),
                                     ") uses the state directory ", dir_.path(), "/state")));
  EXPECT_FALSE(dir_.root().Exists("run2"));
  std::vector<std::string> other_state = Flags();
  other_state[4] = dir_.path() + "/state2";
  const RunResult same_run = Run(other_state);
  EXPECT_EQ(same_run.exit.code, 1);
  EXPECT_THAT(same_run.err, HasSubstr("uses the run directory " + dir_.path() + "/run"));
  EXPECT_TRUE(Answers(dir_.path() + "/run/plimsoll.sock"));
}

TEST_F(ProgramTest, TellsTheServiceManager) {
  const std::string path = dir_.path() + "/notify";
  const UniqueFd manager(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const timeval patience = {.tv_sec = 20};
  setsockopt(manager.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(bind(manager.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const auto receive = [&] {
    char buffer[100];
    const ssize_t length = recv(manager.get(), buffer, sizeof(buffer), 0);
    return length < 0 ? std::string("nothing") : std::string(buffer, static_cast<size_t>(length));
  };
  Child* daemon = Start(Flags(), {"NOTIFY_SOCKET=" + path});
  ASSERT_NE(daemon, nullptr);
  EXPECT_EQ(receive(), "READY=1");
  ASSERT_TRUE(daemon->Signal(SIGINT).ok());
  EXPECT_EQ(receive(), "STOPPING=1");
  EXPECT_TRUE(EndsWell(daemon));
}

TEST_F(ProgramTest, ReloadsOnHangUp) {
  ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", "log: {format: json}").ok());
  Child* daemon = Start(Flags());
  ASSERT_NE(daemon, nullptr);
  const auto reload = [&](const std::string& config, const std::string& expected) {
    ASSERT_TRUE(dir_.root().ReplaceFile("config.yaml", config).ok());
    ASSERT_TRUE(daemon->Signal(SIGHUP).ok());
    const absl::Time deadline = absl::Now() + kPatience;
    while (!absl::StrContains(Log(), expected) && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    EXPECT_THAT(Log(), HasSubstr(expected));
  };
  reload("log: {format: json, level: debug}",
         "\"message\":\"configuration reloaded\",\"log_level\":\"debug\"");
  reload("log: {format: json}\nworkers: 3", "other keys have changed too and wait for a restart");
  EXPECT_THAT(Log(), HasSubstr("\"keys\":\"workers\""));
  reload("workers: none", "configuration not reloaded, the old one stays in force");
  EXPECT_THAT(Log(), HasSubstr("config.yaml:1:10: workers: expected an integer"));
  EXPECT_TRUE(Answers(dir_.path() + "/run/plimsoll.sock"));
}

TEST_F(ProgramTest, StandaloneEndsWithItsLastClient) {
  ASSERT_TRUE(dir_.root().MakeDirs("run", 0755).ok());
  const auto client = [&] {
    UniqueFd fd = FsRoot::Open(dir_.path() + "/run")
                      ->OpenFile(kClientsLockName, O_RDWR | O_CREAT, 0600)
                      .value();
    EXPECT_EQ(flock(fd.get(), LOCK_SH), 0);
    return fd;
  };
  UniqueFd first = client();
  Child* daemon = Start(Flags({"--standalone"}));
  ASSERT_NE(daemon, nullptr);
  UniqueFd second = client();
  first.Reset();
  EXPECT_FALSE(daemon->Wait(absl::Now() + absl::Milliseconds(100)).ok());
  EXPECT_TRUE(Answers(dir_.path() + "/run/plimsoll.sock"));
  second.Reset();
  EXPECT_TRUE(EndsWell(daemon));
  EXPECT_THAT(Mounts(), IsEmpty());
  EXPECT_FALSE(dir_.root().Exists("run"));
}

}  // namespace
}  // namespace plimsoll::daemon
