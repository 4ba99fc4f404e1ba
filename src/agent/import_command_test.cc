#include "agent/import_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/pods/records/pod_store.h"
#include "base/dir_for_test.h"
#include "service/directory_lock.h"

namespace plimsoll::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kCpus[] =
    R"({"policyName":"static","defaultCpuSet":"0,4-7","entries":{"u1":{"main":"2-3"}},)"
    R"("checksum":1})";

// Without a runtime: names come from flags.
class ImportCommandTest : public testing::Test {
 protected:
  ImportCommandTest() {
    flags_.agent.config = config_.path() + "/agent.yaml";
    flags_.agent.state_directory = state_.path();
    flags_.agent.runtime_endpoint = absl::StrCat("unix://", config_.path(), "/no.sock");
    flags_.kubelet_root = kubelet_.path();
    EXPECT_TRUE(config_.root().ReplaceFile("agent.yaml", "nodeName: n\n").ok());
    Write("cpu_manager_state", kCpus);
  }
  void Write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(kubelet_.root().ReplaceFile(file, text).ok());
  }
  std::vector<ImportedGrant> Imported() {
    const auto store = PodStore::Open(state_.root());
    EXPECT_TRUE(store.ok()) << store.status();
    return *(*store)->AllImportedGrants();
  }
  std::string Fault() {
    const absl::Status status = ImportKubeletState(flags_).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  }

  TestDir config_, state_, kubelet_;
  ImportFlags flags_;
};

TEST_F(ImportCommandTest, WhatPodsHadIsKeptAndKubeletsFilesStay) {
  flags_.pods = {"u1=default/web"};
  const auto outcome = ImportKubeletState(flags_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->is_complete);
  EXPECT_EQ(outcome->text, "default/web  imported  main CPUs 2-3\n");
  ASSERT_THAT(Imported(), SizeIs(1));
  EXPECT_EQ(Imported()[0].grant.containers.at("main").cpus.ToString(), "2-3");
  EXPECT_EQ(*kubelet_.root().Read("cpu_manager_state"), kCpus);
}

TEST_F(ImportCommandTest, ADryRunWritesNothing) {
  flags_.pods = {"u1=default/web"};
  flags_.dry_run = true;
  const auto outcome = ImportKubeletState(flags_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(outcome->text, HasSubstr("nothing was written"));
  EXPECT_FALSE(state_.root().Read(PodStore::kFileName).ok());
}

TEST_F(ImportCommandTest, PodsOfTheAgentAreNotTouched) {
  {
    PodRecord record;
    record.uid = "mine";
    record.key = {"default", "web"};
    record.object = nlohmann::json::object();
    ASSERT_TRUE((*PodStore::Open(state_.root()))->Put({record}).ok());
  }
  flags_.pods = {"u1=default/web"};
  const auto outcome = ImportKubeletState(flags_);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_FALSE(outcome->is_complete);
  EXPECT_THAT(Imported(), IsEmpty());
}

TEST_F(ImportCommandTest, ARunningAgentIsNotDisturbed) {
  flags_.pods = {"u1=default/web"};
  const auto lock = DirectoryLock::Take(state_.root(), "state directory");
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_THAT(Fault(), AllOf(HasSubstr("uses the state directory"), HasSubstr("stop it")));
}

TEST_F(ImportCommandTest, ARuntimeThatIsAwayIsNamedWithTheWayOut) {
  EXPECT_THAT(Fault(), AllOf(HasSubstr("--pod"), HasSubstr("no.sock")));
}

TEST_F(ImportCommandTest, FaultyFilesAndFlagsAreNamed) {
  flags_.pods = {"u1=default/web"};
  Write("memory_manager_state", "{");
  EXPECT_THAT(Fault(), AllOf(HasSubstr(kubelet_.path()), HasSubstr("memory_manager_state: is no")));
  Write("memory_manager_state", "");
  flags_.pods = {"u1=default/web", "u2=default/db"};
  EXPECT_THAT(Fault(), HasSubstr("--pod u2=default/db: kubelet's checkpoints have nothing"));
  flags_.pods = {"u1"};
  EXPECT_THAT(Fault(), HasSubstr("UID=NAMESPACE/NAME"));
  TestDir empty;
  flags_.pods = {};
  flags_.kubelet_root = empty.path();
  EXPECT_THAT(Fault(), AllOf(HasSubstr("neither"), HasSubstr("--kubelet-root")));
  flags_.kubelet_root = empty.path() + "/none";
  EXPECT_THAT(Fault(), HasSubstr("none"));
}

TEST_F(ImportCommandTest, FlagsAreRead) {
  ImportFlags flags;
  const char* const argv[] = {kImportCommand, "--kubelet-root", "/k",    "--pod",
                              "u=a/b",        "--pod",          "v=a/c", "--dry-run"};
  EXPECT_FALSE(ParseImportFlags(8, argv, flags).has_value());
  EXPECT_EQ(flags.kubelet_root, "/k");
  EXPECT_THAT(flags.pods, testing::ElementsAre("u=a/b", "v=a/c"));
  EXPECT_TRUE(flags.dry_run);
  const char* const help[] = {kImportCommand, "--help"};
  const auto shown = ParseImportFlags(2, help, flags);
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->code, 0);
  EXPECT_THAT(shown->text, HasSubstr("--kubelet-root"));
  const char* const wrong[] = {kImportCommand, "--no-such-flag"};
  EXPECT_EQ(ParseImportFlags(2, wrong, flags)->code, 2);
}

}  // namespace
}  // namespace plimsoll::agent
