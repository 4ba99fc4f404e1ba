// From one build to another and back, with pods running. tools/build_to_build.sh builds another
// revision and names it in PLIMSOLL_OTHER_BUILD; without it both builds are this one, which tests
// little.
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/leftovers.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

// The directory of its programs.
std::string OtherBuild() {
  const char* directory = getenv("PLIMSOLL_OTHER_BUILD");
  return directory != nullptr ? directory : ProgramPath(".");
}

class BuildToBuildTest : public NodeTest {
 protected:
  void SetUp() override {
    node_.UseDaemon(OtherBuild() + "/plimsolld");
    NodeTest::SetUp();
  }

  void Change(const std::string& directory, bool killed) {
    if (killed) {
      node_.KillDaemon();
    } else {
      const auto exit = node_.StopDaemon();
      ASSERT_TRUE(exit.ok() && exit->success()) << node_.Log();
    }
    node_.UseDaemon(directory + "/plimsolld");
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
  }

  std::string Database(const char* suffix = "") {
    return Host().Read(absl::StrCat(node_.state_directory(), "/plimsoll.db", suffix)).value_or("");
  }
  // Plimsoll's schema version, from the database's header (sqlite.org/fileformat.html, offset 60).
  int SchemaVersion() {
    const std::string header = Database();
    EXPECT_GE(header.size(), 64u);
    return header.size() < 64 ? 0 : static_cast<unsigned char>(header[63]);
  }

  // A container that forks nothing, so that its processes can be compared.
  std::string StartSleeper(const std::string& pod) {
    return Start(pod, Shell("exec sleep 100000"));
  }
  std::string InitOf(const std::string& id) {
    return ExecOutput(id, "cut -d' ' -f22 /proc/1/stat");
  }
  void ExpectAlive(const std::string& id, const std::string& init) {
    ASSERT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
    EXPECT_EQ(InitOf(id), init) << "the same process";
    ExecOutput(id, "echo a line > /proc/1/fd/1");
    EXPECT_TRUE(Eventually([&] { return absl::EndsWith(Output(id), "a line\n"); }));
  }

  // Everything on the node that a daemon could touch, except logs' contents.
  Inventory TakeStock() {
    return TakeInventory({.directories = {node_.state_directory(), node_.run_directory()},
                          .cgroup = node_.cgroup_parent()});
  }
};

TEST_F(BuildToBuildTest, PodsRunOnUnderEachOfThem) {
  const std::string pod = RunPod();
  const std::string running = StartSleeper(pod);
  const std::string ended = Start(pod, Shell("exit 3"));
  const std::string created = Create(pod, Shell("exit 6"));
  const std::string ends_later = StartSleeper(pod);
  EXPECT_EQ(AwaitExit(ended).exit_code(), 3);
  const std::string init = InitOf(running);

  Change(ProgramPath("."), /*killed=*/true);
  const int version = SchemaVersion();
  ExpectAlive(running, init);
  EXPECT_EQ(Status(ended).exit_code(), 3);
  ASSERT_TRUE(TryStart(created).ok());
  EXPECT_EQ(AwaitExit(created).exit_code(), 6);
  EXPECT_TRUE(StopContainer(ends_later, 0).ok());
  EXPECT_EQ(Status(ends_later).exit_code(), 137);
  const std::string newer = StartSleeper(RunPod());
  const std::string newer_init = InitOf(newer);

  // Back again. An older build that doesn't know the schema says so and touches nothing.
  node_.KillDaemon();
  const Inventory before = TakeStock();
  const std::string database = Database();
  const std::string log = Database("-wal");
  node_.UseDaemon(OtherBuild() + "/plimsolld");
  const absl::Status back = node_.StartDaemon();
  if (!back.ok()) {
    EXPECT_THAT(std::string(back.message()), HasSubstr("written by a newer Plimsoll"));
    EXPECT_THAT(std::string(back.message()), HasSubstr(absl::StrCat("version ", version)));
    EXPECT_EQ(Database(), database);
    EXPECT_EQ(Database("-wal"), log);
    EXPECT_EQ(TakeStock(), before);
    node_.UseDaemon(ProgramPath("plimsolld"));
    ASSERT_TRUE(node_.StartDaemon().ok()) << node_.Log();
  }
  GTEST_LOG_(INFO) << "the way back was " << (back.ok() ? "taken" : "refused");
  ExpectAlive(running, init);
  ExpectAlive(newer, newer_init);
  EXPECT_EQ(AwaitExit(Start(pod, Shell("exit 9"))).exit_code(), 9);
  EXPECT_TRUE(StopContainer(newer, 0).ok());
  EXPECT_EQ(Status(newer).exit_code(), 137);

  Change(ProgramPath("."), /*killed=*/false);
  ExpectAlive(running, init);
  EXPECT_EQ(Status(created).exit_code(), 6);
}

}  // namespace
}  // namespace plimsoll::testing
