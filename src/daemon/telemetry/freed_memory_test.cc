#include "daemon/telemetry/freed_memory.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/wait_until_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

constexpr size_t kMiB = 1 << 20;

size_t ResidentBytes() {
  size_t size = 0;
  size_t resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  EXPECT_EQ(std::fscanf(file, "%zu %zu", &size, &resident), 2);
  std::fclose(file);
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// An allocator that returns only the heap's end would keep all of it.
TEST(FreedMemory, GoesBackFromBetweenWhatLives) {
#ifdef PLIMSOLL_SANITIZED
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  constexpr size_t kPiece = 1024;
  std::vector<char*> pieces;
  for (size_t i = 0; i < 64 * kMiB / kPiece; ++i) {
    pieces.push_back(static_cast<char*>(std::calloc(1, kPiece)));
    *pieces.back() = 1;
  }
  for (size_t i = 0; i + 1 < pieces.size(); ++i) std::free(pieces[i]);
  const size_t before = ResidentBytes();
  FreedMemory freed;
  freed.Note();
  EXPECT_TRUE(WaitUntil([before] { return ResidentBytes() + 48 * kMiB < before; }))
      << before << " bytes before, " << ResidentBytes() << " after";
  std::free(pieces.back());
}

}  // namespace
}  // namespace plimsoll::daemon
