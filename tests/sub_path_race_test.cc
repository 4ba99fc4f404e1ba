// The subPath of a volume that a container can write: whatever the container does to it, the mount
// stays in the volume, and no mount is left behind.
#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli_fixture.h"
#include "harness/node_agent.h"
#include "harness/sub_path_trap.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kUntilEnd[] = "touch /m/here; until [ -e /m/end ]; do sleep 0.1; done";

// A pod with an emptyDir, and containers that have a directory of it.
std::string PodWithSubPath(const std::string& name, const std::string& script, size_t containers,
                           const std::string& volume = "emptyDir: {}") {
  std::string list;
  for (size_t i = 0; i < containers; ++i) {
    absl::StrAppend(&list, i == 0 ? "" : ", ", "{name: c", i,
                    ", image: busybox, imagePullPolicy: Never, command: [sh, -c, '", script,
                    "'], volumeMounts: [{name: v, mountPath: /m, subPath: data/c", i, "}]}");
  }
  return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                      "}, spec: {restartPolicy: Never, terminationGracePeriodSeconds: 1, volumes: "
                      "[{name: v, ",
                      volume, "}], containers: [", list, "]}}\n");
}

class RunSubPathTest : public CliTest {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(dir_.path(), "/", name, ".yaml");
    EXPECT_TRUE(Host().ReplaceFile(path, text).ok());
    return path;
  }
  // The binds of all pods.
  std::vector<std::string> Binds() {
    std::vector<std::string> binds;
    for (const std::string& each : MountsBelow(dir_.path())) {
      if (absl::StrContains(each, "/volume-subpaths/")) binds.push_back(each);
    }
    return binds;
  }
  // With the directory that its container writes to, on the host.
  std::string HostPathPod(const std::string& name, const std::string& script) {
    return File(name, PodWithSubPath(name, script, 1,
                                     absl::StrCat("hostPath: {path: ", dir_.path(),
                                                  "/shared, type: DirectoryOrCreate}")));
  }
  std::string Shared(const std::string& file) {
    return absl::StrCat(dir_.path(), "/shared/data/c0/", file);
  }
};

TEST_F(RunSubPathTest, ADirectoryThatBecomesALinkIsNoWayOut) {
  SubPathTrap trap(dir_.path());
  const RunResult ran = Plimsoll({"run", File("visits", trap.Manifest())});
  EXPECT_EQ(ran.exit.code, 0) << ran.err;
  trap.ExpectAllInside();
}

TEST_F(RunSubPathTest, TheEndOfAContainerUnmounts) {
  const RunResult ran = Plimsoll({"run", "--keep", HostPathPod("kept", "touch /m/here")});
  EXPECT_EQ(ran.exit.code, 0) << ran.err;
  EXPECT_TRUE(Host().Exists(Shared("here")));
  EXPECT_THAT(Binds(), IsEmpty());
  EXPECT_EQ(Plimsoll({"rm", "kept"}).exit.code, 0);
}

// Nobody sees the end of a detached pod's container but the next command.
TEST_F(RunSubPathTest, TheNextRunUnmountsWhatADetachedPodLeft) {
  const std::string detached = HostPathPod("detached", kUntilEnd);
  ASSERT_EQ(Plimsoll({"run", "--detach", detached}).exit.code, 0);
  EXPECT_THAT(Binds(), SizeIs(1));
  const std::string next = File("next", PodWithSubPath("next", "true", 1));
  EXPECT_EQ(Plimsoll({"run", next}).exit.code, 0);
  EXPECT_THAT(Binds(), SizeIs(1)) << "its container runs still";
  ASSERT_TRUE(Host().ReplaceFile(Shared("end"), "").ok());
  ASSERT_TRUE(Eventually([&] {
    Plimsoll({"run", next});
    return Binds().empty();
  }));
  EXPECT_EQ(Plimsoll({"rm", "detached"}).exit.code, 0);

  ASSERT_TRUE(Host().RemoveFile(Shared("end")).ok());
  ASSERT_EQ(Plimsoll({"run", "--detach", detached}).exit.code, 0);
  EXPECT_THAT(Binds(), SizeIs(1));
  EXPECT_EQ(Plimsoll({"stop", "detached"}).exit.code, 0);
  EXPECT_THAT(Binds(), IsEmpty());
  EXPECT_EQ(Plimsoll({"rm", "detached"}).exit.code, 0);
}

TEST_F(RunSubPathTest, AKilledRunLeavesNoMountBehindItsPod) {
  auto killed = Spawn(PlimsollCommand({"run", HostPathPod("killed", kUntilEnd)}));
  ASSERT_TRUE(killed.ok()) << killed.status();
  ASSERT_TRUE(Eventually([&] { return Host().Exists(Shared("here")); }));
  EXPECT_THAT(Binds(), SizeIs(1));
  ASSERT_TRUE(killed->Signal(SIGKILL).ok());
  ASSERT_TRUE(killed->Wait().ok());
  EXPECT_EQ(Plimsoll({"rm", "--force", "killed"}).exit.code, 0);
  EXPECT_THAT(Binds(), IsEmpty());
  EXPECT_TRUE(Host().Exists(Shared("here")));
}

class AgentSubPathTest : public NodeAgentTest {
 protected:
  AgentSubPathTest() : NodeAgentTest("cgroupsPerQOS: false\n") {}
  void SetUp() override {
    NodeAgentTest::SetUp();
    if (!IsSkipped()) Begin();
  }
  std::vector<std::string> Binds() { return MountsBelow(agent_.state_directory()); }
};

TEST_F(AgentSubPathTest, ADirectoryThatBecomesALinkIsNoWayOut) {
  SubPathTrap trap(node_.directory());
  Apply(trap.Manifest());
  ASSERT_TRUE(agent_.AwaitPhase("visits", "Succeeded"));
  trap.ExpectAllInside();
  EXPECT_TRUE(Eventually([&] { return Binds().empty(); }));
  Remove("visits");
}

TEST_F(AgentSubPathTest, AContainerThatEndsWithoutAnAgentLeavesNoMount) {
  Apply(PodWithSubPath("late", kUntilEnd, 1));
  ASSERT_TRUE(agent_.AwaitPhase("late", "Running"));
  EXPECT_THAT(Binds(), SizeIs(1));
  const std::string uid = agent_.Pod("late")["metadata"]["uid"];
  const std::string data =
      absl::StrCat(agent_.state_directory(), "/pods/", uid, "/volumes/v/data/c0");
  EXPECT_TRUE(Eventually([&] { return Host().Exists(data + "/here"); }));

  Restart();
  EXPECT_TRUE(agent_.AwaitPhase("late", "Running"));
  EXPECT_THAT(Binds(), SizeIs(1)) << "its container runs on";
  agent_.Kill();
  ASSERT_TRUE(Host().ReplaceFile(data + "/end", "").ok());
  Begin();
  ASSERT_TRUE(agent_.AwaitPhase("late", "Succeeded"));
  EXPECT_TRUE(Eventually([&] { return Binds().empty(); }));
  EXPECT_TRUE(Host().Exists(data + "/here"));
  Remove("late");
}

TEST_F(AgentSubPathTest, AKillAtAnyInstantLeavesNoMount) {
  for (int i = 0; i < 8; ++i) {
    Apply(PodWithSubPath("killed", kUntilEnd, 4));
    absl::SleepFor(absl::Milliseconds(40 * i));
    Restart();
    Remove("killed");
    ASSERT_THAT(Binds(), IsEmpty()) << "killed after " << 40 * i << " ms";
    ASSERT_THAT(*Host().List(agent_.state_directory() + "/pods"), IsEmpty());
  }
}

}  // namespace
}  // namespace plimsoll::testing
