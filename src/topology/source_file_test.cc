#include "topology/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/no_descriptors_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"

namespace plimsoll::topology {
namespace {

using ::testing::HasSubstr;

std::string OneZone(const std::string& name, const std::string& cpus) {
  return absl::StrCat("zones:\n- {name: ", name, ", type: Core, attributes: {cpu-ids: '", cpus,
                      "'}}\n");
}

class SourceFileTest : public ::testing::Test {
 protected:
  void Put(const std::string& file, const std::string& text) {
    ASSERT_TRUE(dir_.root().ReplaceFile(file, text).ok());
  }
  void Open(const std::string& path) { source_ = *TopologyFileSource::Open(dir_.root(), path); }
  // The first zone's name, or the error.
  std::string Seen() {
    const SourceView view = source_->Look(machine_);
    if (!view.status.ok()) return std::string(view.status.message());
    return view.topology->zones.at(0).name;
  }

  const Machine machine_ = *ReadHwlocSynthetic("core:2 pu:1");
  TestDir dir_;
  std::shared_ptr<TopologyFileSource> source_;
};

TEST_F(SourceFileTest, SeesTheFileThatIsRenamedToIt) {
  Put("t.yaml", OneZone("a", "0"));
  Open("t.yaml");
  EXPECT_EQ(Seen(), "a");
  EXPECT_FALSE(source_->Heard());
  Put("t.yaml", OneZone("b", "0"));
  EXPECT_TRUE(source_->Heard());
  EXPECT_EQ(Seen(), "b");
  EXPECT_FALSE(source_->Heard());
}

TEST_F(SourceFileTest, SeesWhatIsWrittenInPlace) {
  Put("t.yaml", OneZone("a", "0"));
  Open("t.yaml");
  EXPECT_EQ(Seen(), "a");
  {
    const UniqueFd file = *dir_.root().OpenFile("t.yaml", O_WRONLY | O_TRUNC);
    const std::string text = OneZone("b", "0");
    ASSERT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  EXPECT_TRUE(source_->Heard());
  EXPECT_EQ(Seen(), "b");
}

// Like a ConfigMap volume: the file is a link through a link that is replaced.
TEST_F(SourceFileTest, SeesALinkThatLeadsElsewhere) {
  ASSERT_TRUE(dir_.root().MakeDirs("v/1").ok());
  ASSERT_TRUE(dir_.root().MakeDirs("v/2").ok());
  Put("v/1/t.yaml", OneZone("a", "0"));
  Put("v/2/t.yaml", OneZone("b", "0"));
  ASSERT_EQ(symlinkat("1", dir_.root().fd(), "v/data"), 0);
  ASSERT_EQ(symlinkat("data/t.yaml", dir_.root().fd(), "v/t.yaml"), 0);
  Open("v/t.yaml");
  EXPECT_EQ(Seen(), "a");
  ASSERT_EQ(symlinkat("2", dir_.root().fd(), "v/next"), 0);
  ASSERT_EQ(renameat(dir_.root().fd(), "v/next", dir_.root().fd(), "v/data"), 0);
  EXPECT_TRUE(source_->Heard());
  EXPECT_EQ(Seen(), "b");
}

TEST_F(SourceFileTest, SaysWhatIsWrongAndWhere) {
  Open("etc/t.yaml");
  EXPECT_THAT(Seen(), HasSubstr("etc/t.yaml: No such file"));
  ASSERT_TRUE(dir_.root().MakeDirs("etc").ok());
  Put("etc/t.yaml", "zones: [{}]\n");
  EXPECT_THAT(Seen(), HasSubstr("etc/t.yaml:1:9: zones[0]"));
  Put("etc/t.yaml", OneZone("a", "0-2"));
  EXPECT_THAT(Seen(), HasSubstr("etc/t.yaml: zone \"a\" has CPUs 2"));
  Put("etc/t.yaml", "zones: [{name: east, type: NUMANode}]\n");
  EXPECT_THAT(Seen(), HasSubstr("etc/t.yaml: zone \"east\" is a NUMA node"));
  Put("etc/t.yaml", OneZone("a", "0-1"));
  EXPECT_EQ(Seen(), "a");
  // The directory did not exist at first, and is watched now.
  static_cast<void>(source_->Heard());
  EXPECT_EQ(Seen(), "a");
  Put("etc/t.yaml", OneZone("b", "0"));
  EXPECT_TRUE(source_->Heard());
}

// A directory that is not watched sends no events; the tracker's poll looks all the same.
TEST_F(SourceFileTest, ALookSeesWhatWasNotHeard) {
  Put("other.yaml", OneZone("a", "0"));
  ASSERT_TRUE(dir_.root().MakeDirs("etc").ok());
  ASSERT_EQ(symlinkat("../other.yaml", dir_.root().fd(), "etc/t.yaml"), 0);
  Open("etc/t.yaml");
  EXPECT_EQ(Seen(), "a");
  Put("other.yaml", OneZone("b", "0"));
  EXPECT_FALSE(source_->Heard());
  EXPECT_EQ(Seen(), "b");
}

// Opened like a regular file, a FIFO waits for a writer that never comes.
TEST_F(SourceFileTest, AFifoInTheFilesPlaceIsRefusedAtOnce) {
  Put("t.yaml", OneZone("a", "0"));
  Open("t.yaml");
  EXPECT_EQ(Seen(), "a");
  ASSERT_EQ(mkfifoat(dir_.root().fd(), "fifo", 0600), 0);
  ASSERT_EQ(renameat(dir_.root().fd(), "fifo", dir_.root().fd(), "t.yaml"), 0);
  EXPECT_TRUE(source_->Heard());
  EXPECT_THAT(Seen(), HasSubstr("t.yaml: is a FIFO, not a regular file"));
  Put("t.yaml", OneZone("b", "0"));
  EXPECT_TRUE(source_->Heard());
  EXPECT_EQ(Seen(), "b");
}

TEST_F(SourceFileTest, WhatCannotBeReadJustNowIsReadAgain) {
  Put("t.yaml", OneZone("a", "0"));
  Open("t.yaml");
  EXPECT_EQ(Seen(), "a");
  Put("t.yaml", OneZone("b", "0"));
  EXPECT_TRUE(source_->Heard());
  std::string seen;
  {
    NoDescriptors none;
    seen = Seen();
  }
  EXPECT_THAT(seen, HasSubstr("Too many open files"));
  EXPECT_EQ(Seen(), "b");
}

TEST_F(SourceFileTest, ADirectoryMadeAnewIsWatched) {
  ASSERT_TRUE(dir_.root().MakeDirs("etc").ok());
  Put("etc/t.yaml", OneZone("a", "0"));
  Open("etc/t.yaml");
  EXPECT_EQ(Seen(), "a");
  ASSERT_TRUE(dir_.root().RemoveTree("etc").ok());
  EXPECT_TRUE(source_->Heard());
  EXPECT_THAT(Seen(), HasSubstr("No such file"));
  ASSERT_TRUE(dir_.root().MakeDirs("etc").ok());
  Put("etc/t.yaml", OneZone("b", "0"));
  EXPECT_EQ(Seen(), "b");
  static_cast<void>(source_->Heard());
  EXPECT_EQ(Seen(), "b");
  Put("etc/t.yaml", OneZone("c", "0"));
  EXPECT_TRUE(source_->Heard());
  EXPECT_EQ(Seen(), "c");
}

}  // namespace
}  // namespace plimsoll::topology
