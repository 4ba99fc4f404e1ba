#include "agent/manifest_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ManifestDirectoryTest : public testing::Test {
 protected:
  void Start(const std::string& path) {
    auto started = ManifestDirectory::Start(
        {.path = path,
         .look_anyway = absl::Milliseconds(200),
         .quiet = absl::Milliseconds(5),
         .tell =
             [this](ManifestDirectory::Files files, std::set<std::string> unread) {
               const std::lock_guard<std::mutex> lock(mutex_);
               told_ = true;
               unread_ = std::move(unread);
               pods_.clear();
               for (const auto& [file, pods] : files) {
                 for (const auto& [key, pod] : pods) {
                   pods_.push_back(key.name + "=" + pod.manifest.containers.front().image);
                 }
               }
             },
         .fault =
             [this](const std::string& file, const absl::Status& fault) {
               const std::lock_guard<std::mutex> lock(mutex_);
               faults_.push_back(absl::StrCat(file.substr(file.rfind('/') + 1), ": ",
                                              fault.ok() ? "OK" : fault.message()));
             }});
    ASSERT_TRUE(started.ok()) << started.status();
    directory_ = *std::move(started);
  }
  void Write(const std::string& file, const std::string& name, const std::string& image) {
    ASSERT_TRUE(
        dir_.root()
            .ReplaceFile(file,
                         absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                                      "}, spec: {containers: [{name: c, image: ", image, "}]}}"))
            .ok());
  }
  bool Becomes(const std::vector<std::string>& pods) {
    return WaitUntil([&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      return told_ && pods_ == pods;
    });
  }
  std::vector<std::string> Faults() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return faults_;
  }

  TestDir dir_;
  std::mutex mutex_;
  bool told_ = false;
  std::vector<std::string> pods_;
  std::vector<std::string> faults_;
  std::set<std::string> unread_;
  std::unique_ptr<ManifestDirectory> directory_;
};

TEST_F(ManifestDirectoryTest, FilesComeChangeAndGo) {
  Write("a.yaml", "a", "one");
  Write(".hidden", "h", "one");
  Start(dir_.path());
  ASSERT_TRUE(Becomes({"a=one"}));
  Write("b.json", "b", "two");
  ASSERT_TRUE(Becomes({"a=one", "b=two"}));
  Write("a.yaml", "a", "three");
  ASSERT_TRUE(Becomes({"a=three", "b=two"}));
  ASSERT_TRUE(dir_.root().RemoveFile("a.yaml").ok());
  ASSERT_TRUE(Becomes({"b=two"}));
  EXPECT_TRUE(Faults().empty());
}

TEST_F(ManifestDirectoryTest, ABrokenFileKeepsItsPodsAndIsToldOnce) {
  Write("a.yaml", "a", "one");
  Start(dir_.path());
  ASSERT_TRUE(Becomes({"a=one"}));
  ASSERT_TRUE(dir_.root().ReplaceFile("a.yaml", "kind: Pod\n").ok());
  ASSERT_TRUE(WaitUntil([&] { return !Faults().empty(); }));
  Write("b.yaml", "b", "two");
  ASSERT_TRUE(Becomes({"a=one", "b=two"}));
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("a.yaml: ")));
  Write("a.yaml", "a", "two");
  ASSERT_TRUE(Becomes({"a=two", "b=two"}));
  EXPECT_EQ(Faults().back(), "a.yaml: OK");
}

// Pods on record of such a file stay as they are.
TEST_F(ManifestDirectoryTest, AFileThatIsBrokenFromTheStartIsNamed) {
  const auto unread = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    return unread_;
  };
  Write("a.yaml", "a", "one");
  ASSERT_TRUE(dir_.root().ReplaceFile("b.yaml", "kind: Pod\n").ok());
  Start(dir_.path());
  ASSERT_TRUE(Becomes({"a=one"}));
  EXPECT_THAT(unread(), ElementsAre(dir_.path() + "/b.yaml"));
  Write("b.yaml", "b", "two");
  ASSERT_TRUE(Becomes({"a=one", "b=two"}));
  EXPECT_TRUE(unread().empty());
  // The file's pods are known from now on.
  ASSERT_TRUE(dir_.root().ReplaceFile("b.yaml", "kind: Pod\n").ok());
  ASSERT_TRUE(WaitUntil([&] { return Faults().size() == 3; }));
  EXPECT_TRUE(Becomes({"a=one", "b=two"}));
  EXPECT_TRUE(unread().empty());
}

TEST_F(ManifestDirectoryTest, ALinkOutOfTheDirectoryIsAFaultAndEndsNoPod) {
  const TestDir elsewhere;
  Write("a.yaml", "a", "one");
  Start(dir_.path());
  ASSERT_TRUE(Becomes({"a=one"}));
  ASSERT_EQ(symlink((elsewhere.path() + "/a.yaml").c_str(), dir_.root().PathOf(".new").c_str()), 0);
  ASSERT_EQ(rename(dir_.root().PathOf(".new").c_str(), dir_.root().PathOf("a.yaml").c_str()), 0);
  ASSERT_TRUE(WaitUntil([&] { return !Faults().empty(); }));
  absl::SleepFor(absl::Milliseconds(500));  // more looks, which tell nothing new
  EXPECT_TRUE(Becomes({"a=one"}));
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("symbolic link to nothing in this directory")));
}

TEST_F(ManifestDirectoryTest, WhatIsNoFileIsAFault) {
  ASSERT_EQ(mkfifo(dir_.root().PathOf("fifo.yaml").c_str(), 0600), 0);
  Write("a.yaml", "a", "one");
  Start(dir_.path());
  ASSERT_TRUE(Becomes({"a=one"}));
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("fifo.yaml")));
}

TEST_F(ManifestDirectoryTest, AMissingDirectoryEndsNoPod) {
  ASSERT_TRUE(dir_.root().MakeDirs("m").ok());
  Write("m/a.yaml", "a", "one");
  Start(dir_.path() + "/m");
  ASSERT_TRUE(Becomes({"a=one"}));
  // By one call: a look between the removals of file and directory would find no pod.
  ASSERT_EQ(rename(dir_.root().PathOf("m").c_str(), dir_.root().PathOf("away").c_str()), 0);
  ASSERT_TRUE(WaitUntil([&] { return !Faults().empty(); }));
  EXPECT_TRUE(Becomes({"a=one"}));
  ASSERT_TRUE(dir_.root().MakeDirs("m").ok());
  Write("m/b.yaml", "b", "two");
  EXPECT_TRUE(Becomes({"b=two"}));
  EXPECT_EQ(Faults().back(), "m: OK");
}

}  // namespace
}  // namespace plimsoll::agent
