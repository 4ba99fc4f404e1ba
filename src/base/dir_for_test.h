// For tests: a temporary directory, removed with the test.
#ifndef PLIMSOLL_BASE_DIR_FOR_TEST_H_
#define PLIMSOLL_BASE_DIR_FOR_TEST_H_

#include <cstdlib>
#include <string>

#include "base/fs_root.h"

namespace plimsoll {

//   TestDir dir;
//   ASSERT_TRUE(dir.root().ReplaceFile("cpu.shares", "1024\n").ok());
class TestDir {
 public:
  TestDir() : path_(Make()), root_(*FsRoot::Open(path_)) {}
  ~TestDir() {
    const size_t slash = path_.rfind('/');
    FsRoot::Open(path_.substr(0, slash))->RemoveTree(path_.substr(slash + 1)).IgnoreError();
  }
  TestDir(const TestDir&) = delete;
  TestDir& operator=(const TestDir&) = delete;

  const FsRoot& root() const { return root_; }
  const std::string& path() const { return path_; }

 private:
  static std::string Make() {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base != nullptr ? base : "/tmp") + "/plimsoll-test-XXXXXX";
    return mkdtemp(name.data()) != nullptr ? name : std::string();
  }

  std::string path_;
  FsRoot root_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_DIR_FOR_TEST_H_
