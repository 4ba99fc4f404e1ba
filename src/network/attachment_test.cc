#include "network/attachment.h"

#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::network {
namespace {

TEST(AttachmentTest, ThePodIsReadFromWhatPluginsAreTold) {
  Attachment pod;
  pod.id = "a1";
  pod.pod_name = "web";
  pod.pod_namespace = "default";
  pod.pod_uid = "u-1";
  Record record;
  record.args = *ArgsOf(pod);
  EXPECT_EQ(PodOf(record), "default/web");
  EXPECT_EQ(PodOf(Record()), "/");
}

TEST(AttachmentTest, AFileWithoutItsPinIsNoNamespace) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("net", "").ok());
  Record record;
  record.netns = "/proc/self/ns/net";
  EXPECT_TRUE(HasNamespace(record));
  for (const char* name : {"/net", "/nothing"}) {
    record.netns = dir.path() + name;
    EXPECT_FALSE(HasNamespace(record)) << name;
  }
}

TEST(AttachmentTest, ARecordTellsItsBootUnlessItIsFromBefore) {
  Record record;
  record.boot_id = "b00t";
  record.config =
      *ParseConfig(R"({"cniVersion": "1.0.0", "name": "n", "type": "first"})", ConfigFormat::kConf);
  const auto again = RecordFromJson(ToJson(record));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->boot_id, "b00t");
  const auto old = RecordFromJson(
      R"({"containerId": "a1", "network": {"cniVersion": "1.0.0", "name": "n",
                                           "plugins": [{"type": "first"}]}})");
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->boot_id, "");
}

}  // namespace
}  // namespace plimsoll::network
