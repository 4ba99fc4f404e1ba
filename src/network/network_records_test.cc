#include "network/network.h"

#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/random_id.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "network/network_fixture_for_test.h"

namespace plimsoll::network {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(NetworkTest, AnAttachmentIsOnRecordBeforeThePluginRuns) {
  WriteChain();
  scripts_.Write("first", absl::StrCat("cp ", scripts_.path(), "/", RecordPath(), " ",
                                       scripts_.path(), "/copy\necho '", kResult, "'"));
  ASSERT_TRUE(network_->Add(Pod()).ok());
  const auto copy = scripts_.root().Read("copy");
  ASSERT_TRUE(copy.ok()) << copy.status();
  const auto record = RecordFromJson(*copy);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->config.name, "pods");
  EXPECT_FALSE(record->result.has_value());
}

// After a kill, and after a reboot.
TEST_F(NetworkTest, AnotherDaemonDeletesByTheRecordAlone) {
  WriteChain();
  Attachment pod = Pod();
  pod.netns = scripts_.path() + "/gone";
  ASSERT_TRUE(network_->Add(pod).ok());
  ASSERT_TRUE(scripts_.root().RemoveFile("conf/10.conflist").ok());
  ASSERT_TRUE(scripts_.root().ReplaceFile("state/network/0.result", "{}", 0600).ok());
  ASSERT_TRUE(scripts_.root().ReplaceFile("state/network/.x.json.1.2", "half", 0600).ok());
  Open();
  EXPECT_THAT(network_->Attached(), ElementsAre(id_));
  EXPECT_THAT(network_->Addresses(id_), ElementsAre("10.1.0.5", "fd00::5"));
  EXPECT_FALSE(scripts_.root().Exists("state/network/.x.json.1.2"));
  EXPECT_FALSE(scripts_.root().Exists("state/network/0.result"));
  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_THAT(scripts_.calls(), Contains("DEL first"));
  EXPECT_THAT(scripts_.EnvironmentOf("first", "DEL"), Contains("CNI_NETNS="));
  EXPECT_EQ(scripts_.InputOf("first", "DEL")["mtu"], 1400);
  EXPECT_TRUE(scripts_.InputOf("first", "DEL").contains("prevResult"));
  EXPECT_THAT(*scripts_.root().List("state/network"), IsEmpty());
}

// After a power cut.
TEST_F(NetworkTest, AResultThatIsTornIsAsNone) {
  WriteChain();
  ASSERT_TRUE(network_->Add(Pod()).ok());
  ASSERT_TRUE(
      scripts_.root().ReplaceFile(absl::StrCat("state/network/", id_, ".result"), "{\"i").ok());
  Open();
  EXPECT_THAT(network_->Damaged(), IsEmpty());
  EXPECT_THAT(network_->Addresses(id_), IsEmpty());
  ASSERT_TRUE(network_->Delete(id_).ok());
  EXPECT_FALSE(scripts_.InputOf("first", "DEL").contains("prevResult"));
  EXPECT_THAT(*scripts_.root().List("state/network"), IsEmpty());
}

TEST_F(NetworkTest, APluginThatIsLeftAtAnAddIsEnded) {
  WriteChain();
  scripts_.Write("first", "[ $CNI_COMMAND != ADD ]");
  EXPECT_FALSE(network_->Add(Pod()).ok());  // on record, without a result
  const auto start = [](const std::string& id) {
    Command command;
    command.argv = {"/bin/sleep", "1000"};
    command.environment = {absl::StrCat("CNI_CONTAINERID=", id)};
    return Spawn(command);
  };
  auto left = start(id_);
  auto others = start(RandomId());
  ASSERT_TRUE(left.ok() && others.ok()) << left.status() << others.status();
  // The kernel lets the parent of a new program go on before the program's environment is visible.
  const FsRoot host = *FsRoot::Open("/");
  for (const pid_t pid : {left->pid(), others->pid()}) {
    const std::string environment = absl::StrCat("proc/", pid, "/environ");
    ASSERT_TRUE(WaitUntil([&] { return !host.Read(environment).value_or("").empty(); }));
  }
  Open();
  const auto ended = left->Wait(absl::Now() + absl::Seconds(30));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->signal, SIGKILL);
  EXPECT_FALSE(others->Wait(absl::Now()).ok());
  EXPECT_TRUE(others->Signal(SIGKILL).ok());
  EXPECT_TRUE(others->Wait().ok());
}

TEST_F(NetworkTest, ADelThatFailsKeepsTheRecord) {
  WriteChain();
  ASSERT_TRUE(network_->Add(Pod()).ok());
  scripts_.Write("second", "exit 1");
  scripts_.ForgetCalls();
  EXPECT_FALSE(network_->Delete(id_).ok());
  // Plugins still to come may hold what "second" needs.
  EXPECT_THAT(scripts_.calls(), ElementsAre("DEL second"));
  EXPECT_TRUE(network_->IsAttached(id_));
  EXPECT_THAT(scripts_.EnvironmentOf("second", "DEL"), Contains("CNI_NETNS=/proc/self/ns/net"));
  scripts_.Write("second", "");
  EXPECT_TRUE(network_->Delete(id_).ok());
  EXPECT_FALSE(network_->IsAttached(id_));
}

TEST_F(NetworkTest, ARecordThatCanNotBeReadIsToldAndCanBeRemoved) {
  ASSERT_TRUE(scripts_.root().ReplaceFile(RecordPath(), "{}", 0600).ok());
  Open();
  EXPECT_THAT(network_->Damaged(), ElementsAre(AllOf(HasSubstr(id_), HasSubstr("by hand"))));
  EXPECT_TRUE(network_->IsAttached(id_));
  EXPECT_TRUE(network_->Delete(id_).ok());
  EXPECT_FALSE(scripts_.root().Exists(RecordPath()));
}

TEST(ListRecordsTest, OnlyLooks) {
  const TestDir dir;
  EXPECT_THAT(*ListRecords(dir.root()), IsEmpty());
  const std::string id = RandomId();
  ASSERT_TRUE(dir.root().MakeDirs(kRecordDirectory).ok());
  ASSERT_TRUE(dir.root().ReplaceFile(absl::StrCat("network/", id, ".json"), "{}").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("network/pod-cidr", "10.0.0.0/8").ok());
  EXPECT_THAT(*ListRecords(dir.root()), ElementsAre(id));
}

}  // namespace
}  // namespace plimsoll::network
