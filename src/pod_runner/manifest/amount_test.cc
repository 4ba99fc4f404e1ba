#include "pod_runner/manifest/amount.h"

#include <gtest/gtest.h>

namespace plimsoll::pod {
namespace {

using resources::Quantity;

TEST(Amount, ALimitBelowAPageIsAMistake) {
  for (const char* text : {"64Ki", "64Mi", "64M", "0", "64000000m", "1e6"}) {
    EXPECT_TRUE(CheckMemoryLimit(*Quantity::Parse(text)).ok()) << text;
  }
  const auto error = [](const char* text) {
    return std::string(CheckMemoryLimit(*Quantity::Parse(text)).message());
  };
  EXPECT_EQ(error("64m"), "64m is 0.064 bytes: m means milli; write 64Mi for mebibytes");
  EXPECT_EQ(error("1.5m"), "1.5m is 0.002 bytes: m means milli");
  EXPECT_EQ(error("512"),
            "512 is 512 bytes, less than a page of memory; write 512Mi for mebibytes");
  EXPECT_EQ(error("1k"), "1k is 1000 bytes, less than a page of memory");
  constexpr int64_t kLargePage = 64 << 10;  // of arm64
  EXPECT_TRUE(CheckMemoryLimit(*Quantity::Parse("64Ki"), kLargePage).ok());
  EXPECT_EQ(CheckMemoryLimit(*Quantity::Parse("32Ki"), kLargePage).message(),
            "32Ki is 32768 bytes, less than a page of memory");
}

TEST(Amount, MoreCpusThanThereAreLimitNothing) {
  EXPECT_EQ(ManyCpus(*Quantity::Parse("2"), 2), "");
  EXPECT_EQ(ManyCpus(*Quantity::Parse("500m"), 2), "");
  EXPECT_EQ(ManyCpus(*Quantity::Parse("500"), 2),
            "a CPU limit of 500 limits nothing: this machine has 2 CPUs; 500m are thousandths of "
            "one");
  EXPECT_EQ(ManyCpus(*Quantity::Parse("1500m"), 1),
            "a CPU limit of 1500m limits nothing: this machine has 1 CPU");
  EXPECT_GE(CpusHere(), 1);
}

TEST(Amount, MoreMemoryThanThereIsLimitsNothing) {
  EXPECT_EQ(MuchMemory(*Quantity::Parse("2Gi"), int64_t{2} << 30), "");
  EXPECT_EQ(MuchMemory(*Quantity::Parse("1Ti"), int64_t{2} << 30),
            "a memory limit of 1Ti limits nothing: this machine has 2 GiB");
  EXPECT_EQ(MuchMemory(*Quantity::Parse("1Ti"), 0), "") << "it is not known";
  EXPECT_GT(MemoryHere(), 1 << 20);
}

}  // namespace
}  // namespace plimsoll::pod
