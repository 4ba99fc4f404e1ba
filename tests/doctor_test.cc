// `plimsoll doctor` names each difference and changes nothing; recovery then does what it
// announced.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/random_id.h"
#include "base/unique_fd.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/watched_program.h"
#include "linux/process.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DoctorTest : public NodeTest {
 protected:
  RunResult Doctor(std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {ProgramPath("plimsoll"), "--address", node_.address()};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back("doctor");
    return *RunProgram({.argv = argv});
  }
  // Runs without a daemon.
  RunResult Inspect() {
    return *RunProgram(
        {.argv = {ProgramPath("plimsolld"), "--config", node_.config_path(), "--inspect"}});
  }
  // Kills the daemon.
  void LoseDatabase() {
    node_.KillDaemon();
    for (const char* suffix : {"", "-wal", "-shm"}) {
      ASSERT_TRUE(
          Host().RemoveFile(absl::StrCat(node_.state_directory(), "/plimsoll.db", suffix)).ok());
    }
  }
  // The database's content as it is on disk.
  std::string Database() {
    return absl::StrCat(Host().Read(node_.state_directory() + "/plimsoll.db").value_or("none"),
                        Host().Read(node_.state_directory() + "/plimsoll.db-wal").value_or("none"));
  }
};

TEST_F(DoctorTest, WhatAgreesIsSaidToAgree) {
  const std::string pod = RunPod();
  Start(pod, Shell("sleep 1000"));
  AwaitExit(Start(pod, Shell("exit 1")));
  const RunResult result = Doctor();
  EXPECT_EQ(result.exit.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("agree"));
  // The daemon that uses the directories reports on them itself.
  EXPECT_EQ(Inspect().exit.code, 1);
  EXPECT_THAT(Inspect().err, HasSubstr("another plimsolld"));
}

TEST_F(DoctorTest, ARunningDaemonTellsWhatItWouldDo) {
  const std::string stray = RandomId();
  ASSERT_TRUE(Host().MakeDirs(absl::StrCat(node_.run_directory(), "/sandboxes/", stray)).ok());
  const RunResult people = Doctor();
  EXPECT_EQ(people.exit.code, 3) << people.out << people.err;
  EXPECT_THAT(people.out, HasSubstr("StraySandbox"));
  EXPECT_THAT(people.out, HasSubstr(stray.substr(0, 12)));
  const RunResult programs = Doctor({"-o", "json"});
  EXPECT_EQ(programs.exit.code, 3);
  EXPECT_THAT(programs.out, HasSubstr(absl::StrCat("\"podSandboxId\": \"", stray, "\"")));
  EXPECT_TRUE(Host().Exists(absl::StrCat(node_.run_directory(), "/sandboxes/", stray)));
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Doctor().exit.code, 0);
}

TEST_F(DoctorTest, WithoutADaemonTheDirectoriesTell) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("sleep 1000"));
  node_.KillDaemon();
  EXPECT_THAT(Inspect().out, Not(HasSubstr("findings"))) << "killed, and all as it should be";
  const std::vector<std::string> monitors = ProcessesWith("plimsoll-monitor " + id);
  ASSERT_EQ(monitors.size(), 1u);
  const auto monitor = linux::IdentifyProcess(Host(), std::stoi(monitors[0]));
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  ASSERT_EQ(kill(monitor->pid, SIGKILL), 0);
  // A process that ends loses its command line first.
  EXPECT_TRUE(Eventually([&] { return !linux::IsRunning(Host(), *monitor).value_or(true); }));
  ASSERT_TRUE(Host().MakeDirs(node_.state_directory() + "/images/work/left").ok());
  const std::string before = Database();
  const RunResult result = Inspect();
  EXPECT_EQ(result.exit.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("ContainerEnded"));
  EXPECT_THAT(result.out, HasSubstr(id));
  EXPECT_THAT(result.out, HasSubstr("StrayWork"));
  EXPECT_EQ(Database(), before);
  EXPECT_EQ(Inspect().out, result.out) << "looking again shows the same";
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Status(id).exit_code(), 255);
  EXPECT_EQ(Doctor().exit.code, 0);
  EXPECT_FALSE(Host().Exists(node_.state_directory() + "/images/work/left"));
}

TEST_F(DoctorTest, ALayerThatIsGoneIsMissed) {
  Start(RunPod(), Shell("sleep 1000"));
  const std::string layers = node_.state_directory() + "/images/layers";
  const std::string away = node_.state_directory() + "/away";
  const auto names = Host().List(layers);
  ASSERT_TRUE(names.ok() && !names->empty());
  const std::string layer = absl::StrCat(layers, "/", names->front());
  ASSERT_EQ(rename(layer.c_str(), away.c_str()), 0);
  const RunResult result = Doctor();
  ASSERT_EQ(rename(away.c_str(), layer.c_str()), 0);
  EXPECT_EQ(result.exit.code, 3) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("ContainerFilesGone"));
  EXPECT_THAT(result.out, HasSubstr("DamagedImage"));
  EXPECT_THAT(result.out, HasSubstr(names->front()));
  EXPECT_EQ(Doctor().exit.code, 0);
}

TEST_F(DoctorTest, ADamagedImageIsToldAndTheOthersAreUsable) {
  ASSERT_TRUE(node_.StopDaemon().ok());
  const std::string blobs = node_.state_directory() + "/images/blobs/sha256";
  const auto names = Host().List(blobs);
  ASSERT_TRUE(names.ok() && !names->empty());
  for (const std::string& name : *names) {
    ASSERT_TRUE(Host().RemoveFile(absl::StrCat(blobs, "/", name)).ok());
  }
  const RunResult stopped = Inspect();
  EXPECT_EQ(stopped.exit.code, 0) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("DamagedImage"));
  EXPECT_THAT(stopped.out, HasSubstr("busybox"));
  ASSERT_TRUE(node_.StartDaemon().ok());
  const RunResult told = Doctor();
  EXPECT_EQ(told.exit.code, 3) << told.out << told.err;
  EXPECT_THAT(told.out, HasSubstr("pull or import it again"));
  EXPECT_THAT(node_.Log(), HasSubstr("is damaged and no longer listed"));
  ASSERT_TRUE(Import(absl::StrCat(node_.directory(), "/busybox"), "busybox").ok());
  EXPECT_EQ(AwaitExit(Start(RunPod(), Shell("exit 4"))).exit_code(), 4);
}

// A lost database row leaves such a group.
TEST_F(DoctorTest, AGroupOfASandboxThatNobodyKnowsIsFoundAndRemoved) {
  const std::string id = RandomId();
  const std::string group = absl::StrCat(node_.cgroup_parent(), "/", id);
  RunPod();  // makes the parent
  ASSERT_TRUE(Cgroups().Create(group).ok());
  // Belongs to another daemon, with the same parent and other directories.
  const std::string theirs = absl::StrCat(node_.cgroup_parent(), "/", RandomId());
  ASSERT_TRUE(Cgroups().Create(theirs).ok());
  EXPECT_EQ(Doctor().exit.code, 0);
  ASSERT_TRUE(
      Host().MakeDirs(absl::StrCat(node_.run_directory().substr(1), "/sandboxes/", id)).ok());
  const RunResult result = Doctor();
  EXPECT_EQ(result.exit.code, 3) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("StrayGroup"));
  EXPECT_THAT(result.out, HasSubstr(id));
  EXPECT_TRUE(CgroupExists(group)) << "it only looks";
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_FALSE(CgroupExists(group));
  EXPECT_THAT(node_.Log(), HasSubstr(absl::StrCat(group, " is of a sandbox that is not recorded")))
      << "what recovery did is told";
  EXPECT_EQ(Doctor().exit.code, 0);
  EXPECT_TRUE(CgroupExists(theirs));
  EXPECT_TRUE(Cgroups().Remove(theirs).ok());
}

TEST_F(DoctorTest, WhatWasLookedAtIsSaidAndNothingIsAnError) {
  EXPECT_THAT(Doctor().out, HasSubstr(absl::StrCat("Looked at ", node_.state_directory(), ", ",
                                                   node_.run_directory(), ".")));
  const RunResult nothing =
      *RunProgram({.argv = {ProgramPath("plimsoll"), "--root", "/nonexistent", "doctor"}});
  EXPECT_EQ(nothing.exit.code, 2) << nothing.out << nothing.err;
  EXPECT_THAT(nothing.err, HasSubstr("state directory /nonexistent/state is not there"));
  EXPECT_THAT(nothing.out, IsEmpty());
  const std::string root = node_.directory() + "/root";
  ASSERT_TRUE(Host().MakeDirs(root + "/state").ok());
  const RunResult empty =
      *RunProgram({.argv = {ProgramPath("plimsoll"), "--root", root, "doctor"}});
  EXPECT_EQ(empty.exit.code, 0) << empty.out << empty.err;
  EXPECT_THAT(empty.out, HasSubstr(absl::StrCat("Looked at ", root, "/state, ", root, "/run.")));
}

// A killed daemon leaves this: all of it is in memory that the kernel keeps.
TEST_F(DoctorTest, ADamagedLogIsRefusedAndPodsRunOn) {
  const std::string first = Start(RunPod(), Shell("sleep 1000"));
  const std::string second = Start(RunPod(), Shell("sleep 1000"));
  node_.KillDaemon();
  const std::string path = node_.state_directory() + "/plimsoll.db";
  const std::string whole = *Host().Read(path + "-wal");
  ASSERT_GT(whole.size(), 10000u);
  std::string damaged = whole;
  // From the middle of the last frame's page on: the second container's start.
  std::fill(damaged.end() - 2000, damaged.end() - 1900, '\xaa');
  ASSERT_TRUE(Host().ReplaceFile(path + "-wal", damaged).ok());
  for (const std::string& said :
       {std::string(Inspect().err), std::string(node_.StartDaemon().message())}) {
    EXPECT_THAT(said, HasSubstr(path + "-wal is broken at frame "));
    EXPECT_THAT(said, HasSubstr("ends every running pod"));
  }
  for (const std::string& id : {first, second}) {
    EXPECT_THAT(ProcessesWith("plimsoll-monitor " + id), Not(IsEmpty())) << "it runs on";
  }
  EXPECT_EQ(*Host().Read(path + "-wal"), damaged) << "not touched";
  ASSERT_TRUE(Host().ReplaceFile(path + "-wal", whole).ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  for (const std::string& id : {first, second}) {
    EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
  }
}

TEST_F(DoctorTest, AnEmptiedOrTruncatedDatabaseIsRefusedAndPodsRunOn) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  node_.KillDaemon();
  const std::string path = node_.state_directory() + "/plimsoll.db";
  const std::vector<std::string> suffixes = {"", "-wal", "-shm"};
  std::vector<std::string> whole;
  for (const std::string& suffix : suffixes) whole.push_back(*Host().Read(path + suffix));
  for (const std::string& suffix : {suffixes[1], suffixes[2]}) {
    ASSERT_TRUE(Host().RemoveFile(path + suffix).ok());
  }
  for (const size_t kept : {size_t{0}, size_t{4096}}) {
    ASSERT_TRUE(Host().ReplaceFile(path, whole[0].substr(0, kept)).ok());
    for (const std::string& said :
         {std::string(Inspect().err), std::string(node_.StartDaemon().message())}) {
      EXPECT_THAT(said, HasSubstr(absl::StrCat("database ", path, ": is damaged")));
      EXPECT_THAT(said, HasSubstr("ends every running pod"));
      EXPECT_THAT(said, Not(HasSubstr("plimsoll-inspect"))) << "that is gone by then";
    }
  }
  EXPECT_THAT(ProcessesWith("plimsoll-monitor " + id), Not(IsEmpty())) << "it runs on";
  for (size_t i = 0; i < suffixes.size(); ++i) {
    ASSERT_TRUE(Host().ReplaceFile(path + suffixes[i], whole[i]).ok());
  }
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
}

// Moving the database away while pods run ends all of them, in one start.
TEST_F(DoctorTest, PodsOfALostDatabaseGoWithTheirGroups) {
  cri::PodSandboxConfig shared = PodConfig();
  shared.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
      cri::POD);
  std::vector<std::string> groups;
  for (const std::string& pod : {RunPod(), RunPod(shared)}) {
    cri::ContainerConfig config = Shell("sleep 1000");
    if (groups.size() == 1) {
      config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
          cri::POD);
    }
    Start(pod, config);
    groups.push_back(absl::StrCat(node_.cgroup_parent(), "/", pod));
    EXPECT_TRUE(CgroupExists(groups.back()));
  }
  LoseDatabase();
  ASSERT_TRUE(node_.StartDaemon().ok());
  for (const std::string& group : groups) EXPECT_FALSE(CgroupExists(group)) << group;
  EXPECT_THAT(*Host().List(node_.run_directory() + "/sandboxes"), IsEmpty());
  EXPECT_THAT(node_.Log(), Not(HasSubstr("end them, then the next start removes it")));
  EXPECT_EQ(Doctor().exit.code, 0) << Doctor().out;
}

// A process that isn't recovery's business keeps a group alive, and the next start still knows it.
TEST_F(DoctorTest, AGroupThatStaysIsKnownAtTheNextStart) {
  const std::string pod = RunPod();
  Start(pod, Shell("sleep 1000"));
  const std::string group = absl::StrCat(node_.cgroup_parent(), "/", pod);
  const std::string theirs = group + "/theirs";
  ASSERT_TRUE(Cgroups().Create(theirs).ok());
  absl::StatusOr<Child> process = Spawn({.argv = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(process.ok()) << process.status();
  ASSERT_TRUE(Cgroups().AddProcess(theirs, process->pid()).ok());
  LoseDatabase();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_THAT(node_.Log(), HasSubstr(absl::StrCat("process ", process->pid(), " among them")));
  EXPECT_TRUE(CgroupExists(theirs));
  const RunResult result = Doctor();
  EXPECT_EQ(result.exit.code, 3) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("StrayGroup"));
  ASSERT_TRUE(process->Signal(SIGKILL).ok());
  ASSERT_TRUE(process->Wait().ok());
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_FALSE(CgroupExists(group));
  EXPECT_EQ(Doctor().exit.code, 0) << Doctor().out;
}

// The problems are this machine's own; the form is ours.
TEST_F(DoctorTest, TheNodeIsLookedAtWithoutADaemon) {
  const auto doctor = [](const std::vector<std::string>& more) {
    std::vector<std::string> argv = {ProgramPath("plimsoll"), "doctor", "--node"};
    argv.insert(argv.end(), more.begin(), more.end());
    return *RunProgram({.argv = argv});
  };
  const RunResult people = doctor({});
  EXPECT_THAT(people.out, HasSubstr("In order: "));
  const RunResult programs = doctor({"-o", "json"});
  const bool is_ready = absl::StrContains(programs.out, "\"ready\": true");
  EXPECT_EQ(programs.exit.code, is_ready ? 0 : 3) << programs.out << programs.err;
  EXPECT_EQ(people.exit.code, programs.exit.code);
  EXPECT_EQ(absl::StrContains(people.out, " error "), !is_ready) << people.out;
  EXPECT_THAT(doctor({"-o", "yaml"}).out, HasSubstr("passed:"));
  EXPECT_EQ(doctor({"--root", "/tmp/r"}).exit.code, 2);
}

TEST_F(DoctorTest, TheNodesTableFitsItsTerminal) {
  for (const auto& [variable, width] :
       {std::pair<std::string, size_t>("NO_COLUMNS=1", 90), {"COLUMNS=70", 70}}) {
    WatchedProgram doctor(
        {"/usr/bin/env", "-u", "COLUMNS", variable, ProgramPath("plimsoll"), "doctor", "--node"},
        OpenTerminal(90));
    doctor.AwaitEnd();
    EXPECT_THAT(doctor.printed(), HasSubstr("In order: "));
    for (absl::string_view line : absl::StrSplit(doctor.printed(), '\n')) {
      absl::ConsumeSuffix(&line, "\r");
      // A path or a command is one word, and is not divided.
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      const bool is_divisible = std::all_of(words.begin(), words.end(),
                                            [](const auto& each) { return each.size() < 40; });
      if (is_divisible) {
        EXPECT_LE(line.size(), width) << line;
      }
    }
  }
}

// Commands without a daemon, in directories of the test's own.
class StandaloneDoctorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_TRUE(dir_.root().MakeDirs("r/run", 0755).ok());
  }
  RunResult Plimsoll(std::vector<std::string> words) const {
    words.insert(words.begin(), {ProgramPath("plimsoll"), "--root", dir_.path() + "/r"});
    return *RunProgram({.argv = std::move(words)}, {.timeout = Patience(absl::Seconds(60))});
  }

  const TestDir dir_;
};

TEST_F(StandaloneDoctorTest, WhatKeepsACommandFromStartingADaemonIsNamed) {
  EXPECT_EQ(Plimsoll({"doctor"}).exit.code, 2) << "nothing is there, and nothing is in the way";
  {
    const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = dir_.path() + "/r/run/plimsoll.sock";
    ASSERT_LT(path.size(), sizeof(address.sun_path));
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }
  const RunResult found = Plimsoll({"doctor"});
  EXPECT_EQ(found.exit.code, 3) << found.out << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("No daemon has run here."),
                               HasSubstr("Commands can't start a daemon of their own:\n  - "),
                               HasSubstr("left by a plimsolld that was killed\n    Start that"),
                               HasSubstr("Looked at " + dir_.path() + "/r/state, ")));
  EXPECT_EQ(Plimsoll({"ps"}).exit.code, 1) << "that is so";
  const auto json = nlohmann::json::parse(Plimsoll({"doctor", "-o", "json"}).out);
  ASSERT_EQ(json["hindrances"].size(), 1u);
  EXPECT_THAT(json["hindrances"][0]["what"].get<std::string>(), HasSubstr("was killed"));
  EXPECT_THAT(json["hindrances"][0]["remedy"].get<std::string>(), HasSubstr("remove the socket"));
  ASSERT_TRUE(dir_.root().RemoveFile("r/run/plimsoll.sock").ok());
  EXPECT_EQ(Plimsoll({"doctor"}).exit.code, 2);
}

TEST_F(StandaloneDoctorTest, WhatADaemonItselfWouldRefuseIsNamed) {
  ASSERT_TRUE(dir_.root().MakeDirs("r/state").ok());
  EXPECT_EQ(Plimsoll({"doctor"}).exit.code, 0) << Plimsoll({"doctor"}).out;
  const UniqueFd lock = *dir_.root().OpenFile("r/run/lock", O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  const RunResult locked = Plimsoll({"doctor"});
  EXPECT_EQ(locked.exit.code, 3) << locked.err;
  EXPECT_THAT(locked.out, HasSubstr("uses the run directory " + dir_.path() + "/r/run"));
  ASSERT_TRUE(dir_.root().RemoveTree("r/run").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("r/run", "").ok());
  const RunResult file = Plimsoll({"doctor"});
  EXPECT_NE(file.exit.code, 0) << file.out;
  EXPECT_THAT(file.out + file.err, HasSubstr("/r/run/plimsoll.sock: Not a directory"));
}

TEST_F(DoctorTest, ADaemonThatIsNamedMustBeThere) {
  node_.KillDaemon();
  const RunResult result = Doctor();
  EXPECT_EQ(result.exit.code, 1);
  EXPECT_THAT(result.err, HasSubstr("no daemon at"));
  EXPECT_THAT(result.err, HasSubstr("--inspect")) << "what to do without one";
  ASSERT_TRUE(node_.StartDaemon().ok());
}

}  // namespace
}  // namespace plimsoll::testing
