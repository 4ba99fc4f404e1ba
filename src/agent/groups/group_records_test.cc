#include "agent/groups/group_records.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using resources::QosClass;
using ::testing::HasSubstr;

GroupRecords Example() {
  return {.parents = {"/kubepods", "/kubepods/burstable"},
          .pods = {{"1", {"/kubepods/pod1", QosClass::kGuaranteed, 2000}},
                   {"2", {"/kubepods/burstable/pod2", QosClass::kBurstable, 250}},
                   {"3", {"/kubepods/besteffort/pod3", QosClass::kBestEffort, 0}}}};
}

TEST(GroupRecordsTest, AreReadAsTheyWereWritten) {
  TestDir dir;
  EXPECT_EQ(*LoadGroupRecords(dir.root(), "boot"), GroupRecords());
  ASSERT_TRUE(SaveGroupRecords(dir.root(), "boot", Example()).ok());
  EXPECT_EQ(*LoadGroupRecords(dir.root(), "boot"), Example());
}

TEST(GroupRecordsTest, EndWithTheBoot) {
  TestDir dir;
  ASSERT_TRUE(SaveGroupRecords(dir.root(), "boot", Example()).ok());
  EXPECT_EQ(*LoadGroupRecords(dir.root(), "next boot"), GroupRecords());
}

TEST(GroupRecordsTest, AForeignFileIsRefusedByName) {
  TestDir dir;
  for (const char* text :
       {"", "{", "[]", R"({"boot_id": "boot"})", R"({"boot_id": "boot", "parents": 1, "pods": {}})",
        R"({"boot_id": "boot", "parents": [], "pods": {"1": {"group": "/a", "qos": "Best",
            "cpu_request_milli": 0}}})"}) {
    ASSERT_TRUE(dir.root().ReplaceFile("groups.json", text).ok());
    const absl::Status status = LoadGroupRecords(dir.root(), "boot").status();
    EXPECT_TRUE(absl::IsInternal(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(dir.path() + "/groups.json"));
  }
}

}  // namespace
}  // namespace plimsoll::agent
