// For tests of races: swaps two names of a directory again and again, as a container does that
// wants a path to lead elsewhere between the check and the use.
#ifndef PLIMSOLL_BASE_SWAP_LOOP_FOR_TEST_H_
#define PLIMSOLL_BASE_SWAP_LOOP_FOR_TEST_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "base/unique_fd.h"

namespace plimsoll {

// From its construction to its destruction. A name that is missing for a while is no error.
class SwapLoopForTest {
 public:
  SwapLoopForTest(const std::string& directory, std::string one, std::string other)
      : directory_(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
        one_(std::move(one)),
        other_(std::move(other)),
        thread_([this] { Run(); }) {
    EXPECT_TRUE(directory_.valid()) << directory;
  }
  ~SwapLoopForTest() {
    ended_ = true;
    thread_.join();
    EXPECT_GT(swaps_, 0);
  }
  SwapLoopForTest(const SwapLoopForTest&) = delete;
  SwapLoopForTest& operator=(const SwapLoopForTest&) = delete;

 private:
  void Run() {
    while (!ended_) {
      const int fd = directory_.get();
      if (renameat2(fd, one_.c_str(), fd, other_.c_str(), RENAME_EXCHANGE) == 0) ++swaps_;
    }
  }

  const UniqueFd directory_;
  const std::string one_;
  const std::string other_;
  std::atomic<bool> ended_ = false;
  std::atomic<int64_t> swaps_ = 0;
  std::thread thread_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_SWAP_LOOP_FOR_TEST_H_
