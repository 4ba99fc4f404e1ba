// `plimsoll doctor`: what differs is named, nothing is changed, and recovery does what was said.
#include <csignal>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/random_id.h"
#include "base/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DoctorTest : public NodeTest {
 protected:
  RunResult Doctor(std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {ProgramPath("plimsoll"), "--address", node_.address()};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back("doctor");
    return *RunProgram({.argv = argv});
  }
  // Without a daemon.
  RunResult Inspect() {
    return *RunProgram(
        {.argv = {ProgramPath("plimsolld"), "--config", node_.config_path(), "--inspect"}});
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
  // Directories that a daemon uses are its own to tell about.
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
  EXPECT_THAT(programs.out, HasSubstr(absl::StrCat("\"pod_sandbox_id\": \"", stray, "\"")));
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
  for (const std::string& line : ProcessesWith("plimsoll-monitor " + id)) {
    ASSERT_EQ(kill(std::stoi(line), SIGKILL), 0);
  }
  EXPECT_TRUE(Eventually([&] { return ProcessesWith("plimsoll-monitor " + id).empty(); }));
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

// As a lost row of the database leaves it.
TEST_F(DoctorTest, AGroupOfASandboxThatNobodyKnowsIsFoundAndRemoved) {
  const std::string id = RandomId();
  const std::string group = absl::StrCat(node_.cgroup_parent(), "/", id);
  RunPod();  // makes the parent
  ASSERT_TRUE(Cgroups().Create(group).ok());
  // Another daemon's, who has the same parent and directories of its own.
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
