#include "qos/class_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::qos {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string ClassFileErrorOf(const std::string& path) {
  const auto text = LoadClassFile(*FsRoot::Open("/"), path);
  return text.ok() ? "no error" : std::string(text.status().message());
}

TEST(ClassFile, WhatCannotBeReadIsNamed) {
  const TestDir dir;
  EXPECT_EQ(ClassFileErrorOf("io.yaml"),
            "class file \"io.yaml\" must be given by an absolute path");
  EXPECT_EQ(ClassFileErrorOf(""), "class file \"\" must be given by an absolute path");
  EXPECT_THAT(ClassFileErrorOf(dir.path() + "/none"),
              AllOf(HasSubstr("class file: "), HasSubstr(dir.path() + "/none")));
  const std::string directory =
      absl::StrCat("class file ", dir.path(), ": is a directory, not a regular file");
  EXPECT_EQ(ClassFileErrorOf(dir.path()), directory);
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(ClassFileErrorOf(fifo),
            absl::StrCat("class file ", fifo, ": is a FIFO, not a regular file"));
}

TEST(ClassFile, AMebibyteIsTheMost) {
  const TestDir dir;
  const std::string path = dir.path() + "/long.yaml";
  ASSERT_TRUE(dir.root().ReplaceFile("long.yaml", std::string(1048576, '#')).ok());
  EXPECT_EQ(ClassFileErrorOf(path), "no error");
  ASSERT_TRUE(dir.root().ReplaceFile("long.yaml", std::string(1048577, '#')).ok());
  EXPECT_EQ(ClassFileErrorOf(path),
            absl::StrCat("class file ", path, ": is larger than 1048576 bytes"));
}

}  // namespace
}  // namespace plimsoll::qos
