#include "agent/pods/life/object_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ObjectDirectoryTest : public testing::Test {
 protected:
  ObjectDirectoryTest()
      : directory_(dir_.root(), "/o", [this](const std::string& path, const absl::Status& fault) {
          faults_.push_back(absl::StrCat(path, ": ", fault.ok() ? "OK" : fault.message()));
        }) {
    EXPECT_TRUE(dir_.root().MakeDirs("/o").ok());
  }
  void Write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(dir_.root().ReplaceFile("/o/" + file, text).ok());
  }
  void WriteMap(const std::string& file, const std::string& name, const std::string& value) {
    Write(file, absl::StrCat("{apiVersion: v1, kind: ConfigMap, metadata: {name: ", name,
                             "}, data: {key: ", value, "}}"));
  }
  // The value of the map's only key; "-" without the map.
  static std::string Value(const ObjectDirectory::Snapshot& snapshot, const std::string& name) {
    const pod::Object* map = snapshot.objects->Find(pod::ObjectKind::kConfigMap, "default", name);
    return map == nullptr ? "-" : map->data.at("key");
  }

  TestDir dir_;
  std::vector<std::string> faults_;
  ObjectDirectory directory_;
};

TEST_F(ObjectDirectoryTest, AVersionIsAChange) {
  EXPECT_EQ(directory_.Latest().version, 0u);
  WriteMap("a.yaml", "a", "one");
  Write("notes.txt", "not: {read");
  EXPECT_EQ(directory_.Read().version, 1u);
  EXPECT_EQ(directory_.Read().version, 1u);
  WriteMap("a.yaml", "a", "two");
  EXPECT_EQ(Value(directory_.Latest(), "a"), "one");
  EXPECT_EQ(directory_.Read().version, 2u);
  EXPECT_EQ(Value(directory_.Latest(), "a"), "two");
  ASSERT_TRUE(dir_.root().RemoveFile("/o/a.yaml").ok());
  EXPECT_EQ(Value(directory_.Read(), "a"), "-");
  EXPECT_TRUE(faults_.empty());
}

TEST_F(ObjectDirectoryTest, ABrokenFileStandsForWhatItHeldAndHoldsUpNoOther) {
  WriteMap("a.yaml", "a", "one");
  WriteMap("b.yaml", "b", "one");
  directory_.Read();
  Write("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, date: {}}");
  WriteMap("b.yaml", "b", "two");
  ObjectDirectory::Snapshot now = directory_.Read();
  EXPECT_TRUE(now.unread.ok()) << now.unread;
  EXPECT_EQ(Value(now, "a"), "one");
  EXPECT_EQ(Value(now, "b"), "two");
  directory_.Read();
  EXPECT_THAT(faults_, ElementsAre(HasSubstr("date"))) << "told once";
  WriteMap("a.yaml", "a", "three");
  EXPECT_EQ(Value(directory_.Read(), "a"), "three");
  EXPECT_EQ(faults_.back(), "/o/a.yaml: OK");
}

TEST_F(ObjectDirectoryTest, WhatWasNeverReadableIsSaid) {
  WriteMap("a.yaml", "a", "one");
  Write("broken.yaml", "a: [");
  EXPECT_THAT(std::string(directory_.Read().unread.message()), HasSubstr("broken.yaml"));
  EXPECT_EQ(Value(directory_.Latest(), "a"), "one");
  ASSERT_TRUE(dir_.root().RemoveFile("/o/broken.yaml").ok());
  EXPECT_TRUE(directory_.Read().unread.ok());
}

TEST_F(ObjectDirectoryTest, AMissingDirectoryTakesNothingAway) {
  WriteMap("a.yaml", "a", "one");
  directory_.Read();
  ASSERT_TRUE(dir_.root().RemoveTree("/o").ok());
  const ObjectDirectory::Snapshot now = directory_.Read();
  EXPECT_EQ(Value(now, "a"), "one");
  EXPECT_EQ(now.version, 1u);
  EXPECT_THAT(faults_, ElementsAre(HasSubstr("/o: ")));
}

TEST_F(ObjectDirectoryTest, OneObjectInTwoFilesIsAFault) {
  WriteMap("a.yaml", "a", "one");
  WriteMap("b.yaml", "a", "two");
  EXPECT_EQ(Value(directory_.Read(), "a"), "one");
  EXPECT_THAT(faults_, ElementsAre(HasSubstr("ConfigMap default/a is there already")));
}

}  // namespace
}  // namespace plimsoll::agent
