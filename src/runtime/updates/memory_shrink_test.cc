#include "runtime/updates/memory_shrink.h"

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/stub_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A memory limit's file that accepts or refuses values; 8192 bytes are in use.
class Memory : public linux::CgroupStub {
 public:
  explicit Memory(linux::CgroupLayout layout) : layout_(layout) {}
  linux::CgroupLayout layout() const override { return layout_; }
  absl::StatusOr<std::string> ReadFile(absl::string_view, absl::string_view,
                                       absl::string_view file) const override {
    if (file == "memory.current" || file == "memory.usage_in_bytes") return std::string("8192\n");
    return std::string("max\n");
  }
  absl::Status WriteFile(absl::string_view group, absl::string_view controller,
                         absl::string_view file, absl::string_view value) override {
    writes.push_back(absl::StrCat(group, " ", controller, " ", file, "=", value));
    if (value == "max" && refuse_back != 0) return ErrnoStatus(refuse_back, "write");
    return refuse == 0 ? absl::OkStatus() : ErrnoStatus(refuse, "write");
  }

  std::vector<std::string> writes;
  int refuse = 0;
  int refuse_back = 0;  // for the previous limit

 private:
  const linux::CgroupLayout layout_;
};

// Shrinks, and expects the limit to be as before.
absl::Status Shrink(Memory& memory, int64_t bytes) {
  bool lowered = true;
  const absl::Status status = ShrinkMemory(memory, "/a", bytes, &lowered);
  EXPECT_FALSE(lowered);
  return status;
}

TEST(ShrinkMemoryTest, AsksThroughALimitThatIsPutBack) {
  Memory v2(linux::CgroupLayout::kV2);
  EXPECT_TRUE(Shrink(v2, 4096).ok());
  EXPECT_THAT(v2.writes, ElementsAre("/a  memory.high=4096", "/a  memory.high=max"));
  Memory v1(linux::CgroupLayout::kHybrid);
  EXPECT_TRUE(Shrink(v1, 4096).ok());
  EXPECT_THAT(v1.writes, ElementsAre("/a memory memory.limit_in_bytes=4096",
                                     "/a memory memory.limit_in_bytes=max"));
}

TEST(ShrinkMemoryTest, ATryThatGotNotFarEnoughIsNoError) {
  Memory v1(linux::CgroupLayout::kV1);
  v1.refuse = EBUSY;
  EXPECT_TRUE(Shrink(v1, 4096).ok());
  EXPECT_EQ(v1.writes.size(), 1u) << "the limit is as it was";
  v1.refuse = EPERM;
  EXPECT_TRUE(absl::IsPermissionDenied(Shrink(v1, 4096)));
}

TEST(ShrinkMemoryTest, SaysThatTheLimitStaysLowered) {
  Memory v2(linux::CgroupLayout::kV2);
  v2.refuse_back = EIO;
  bool lowered = false;
  const absl::Status status = ShrinkMemory(v2, "/a", 4096, &lowered);
  EXPECT_TRUE(lowered);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("memory.high is 4096 now and could not be put back to max: write: "));
  v2.refuse_back = ENOENT;
  EXPECT_TRUE(absl::IsNotFound(Shrink(v2, 4096))) << "it has ended";
}

TEST(ShrinkMemoryTest, ALimitAboveWhatIsUsedIsNotTried) {
  for (const linux::CgroupLayout layout : {linux::CgroupLayout::kV1, linux::CgroupLayout::kV2}) {
    Memory memory(layout);
    // v1 refuses a limit above that of memory and swap together.
    memory.refuse = EINVAL;
    EXPECT_TRUE(Shrink(memory, 8192).ok());
    EXPECT_TRUE(memory.writes.empty());
    EXPECT_FALSE(Shrink(memory, 8191).ok());
  }
}

}  // namespace
}  // namespace plimsoll::runtime
