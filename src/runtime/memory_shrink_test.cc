#include "runtime/memory_shrink.h"

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup_stub_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;

// One file that takes what it is given, or refuses it; 8192 bytes are in use.
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
    return refuse == 0 ? absl::OkStatus() : ErrnoStatus(refuse, "write");
  }

  std::vector<std::string> writes;
  int refuse = 0;

 private:
  const linux::CgroupLayout layout_;
};

TEST(ShrinkMemoryTest, AsksThroughALimitThatIsPutBack) {
  Memory v2(linux::CgroupLayout::kV2);
  EXPECT_TRUE(ShrinkMemory(v2, "/a", 4096).ok());
  EXPECT_THAT(v2.writes, ElementsAre("/a  memory.high=4096", "/a  memory.high=max"));
  Memory v1(linux::CgroupLayout::kHybrid);
  EXPECT_TRUE(ShrinkMemory(v1, "/a", 4096).ok());
  EXPECT_THAT(v1.writes, ElementsAre("/a memory memory.limit_in_bytes=4096",
                                     "/a memory memory.limit_in_bytes=max"));
}

TEST(ShrinkMemoryTest, ATryThatGotNotFarEnoughIsNoError) {
  Memory v1(linux::CgroupLayout::kV1);
  v1.refuse = EBUSY;
  EXPECT_TRUE(ShrinkMemory(v1, "/a", 4096).ok());
  EXPECT_EQ(v1.writes.size(), 1u) << "the limit is as it was";
  v1.refuse = EPERM;
  EXPECT_TRUE(absl::IsPermissionDenied(ShrinkMemory(v1, "/a", 4096)));
}

TEST(ShrinkMemoryTest, ALimitAboveWhatIsUsedIsNotTried) {
  for (const linux::CgroupLayout layout : {linux::CgroupLayout::kV1, linux::CgroupLayout::kV2}) {
    Memory memory(layout);
    // As v1 does with one above that of memory and swap together.
    memory.refuse = EINVAL;
    EXPECT_TRUE(ShrinkMemory(memory, "/a", 8192).ok());
    EXPECT_TRUE(memory.writes.empty());
    EXPECT_FALSE(ShrinkMemory(memory, "/a", 8191).ok());
  }
}

}  // namespace
}  // namespace plimsoll::runtime
