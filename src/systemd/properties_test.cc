#include "systemd/properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/match.h"

namespace plimsoll::systemd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Devices = std::vector<DeviceValue>;
using Bytes = std::vector<uint8_t>;

class PropertiesTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Read(absl::string_view file) const {
    const auto it = files_.find(std::string(file));
    if (it == files_.end()) return absl::NotFoundError("no such file");
    return it->second;
  }

  std::vector<Property> Of(const std::vector<std::string>& files) const {
    const auto properties = PropertiesOf(
        files, [this](absl::string_view file) { return Read(file); },
        [](absl::string_view number) { return !absl::StartsWith(number, "253:"); });
    EXPECT_TRUE(properties.ok()) << properties.status();
    return properties.value_or(std::vector<Property>());
  }

  std::vector<std::string> Inexact() const {
    return InexactFiles(ControlFiles(), [this](absl::string_view file) { return Read(file); });
  }

  std::map<std::string, std::string> files_;
};

TEST_F(PropertiesTest, TellsNumbers) {
  files_ = {{"memory.max", "67108864\n"},
            {"memory.swap.max", "0\n"},
            {"memory.high", "max\n"},
            {"pids.max", "17\n"},
            {"memory.low", "4096\n"}};
  EXPECT_THAT(Of({"memory.max"}), ElementsAre(Property{"MemoryMax", uint64_t{67108864}}));
  EXPECT_THAT(Of({"memory.swap.max"}), ElementsAre(Property{"MemorySwapMax", uint64_t{0}}));
  EXPECT_THAT(Of({"memory.high"}), ElementsAre(Property{"MemoryHigh", kInfinity}));
  EXPECT_THAT(Of({"memory.low", "pids.max"}), ElementsAre(Property{"MemoryLow", uint64_t{4096}},
                                                          Property{"TasksMax", uint64_t{17}}));
  files_["memory.max"] = "0\n";
  EXPECT_THAT(Of({"memory.max"}), IsEmpty()) << "systemd takes no 0";
}

TEST_F(PropertiesTest, TellsOnlyWhatIsAskedForAndThere) {
  files_ = {{"memory.max", "max"}, {"pids.max", "max"}};
  EXPECT_THAT(Of({"memory.max", "cpu.max", "cpuset.cpus", "io.max", "io.weight", "cpu.weight",
                  "hugetlb.2MB.max"}),
              ElementsAre(Property{"MemoryMax", kInfinity}));
}

TEST_F(PropertiesTest, QuotasComeBackAsTheyWere) {
  // Repeats systemd's computation of the quota.
  for (const auto& [quota, period] : std::vector<std::pair<uint64_t, uint64_t>>{
           {50000, 100000}, {12345, 100000}, {1000, 1000000}, {3333, 7777}, {250001, 99999}}) {
    files_["cpu.max"] = std::to_string(quota) + " " + std::to_string(period) + "\n";
    const std::vector<Property> told = Of({"cpu.max"});
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0], (Property{"CPUQuotaPeriodUSec", period}));
    EXPECT_EQ(told[1].name, "CPUQuotaPerSecUSec");
    EXPECT_EQ(std::get<uint64_t>(told[1].value) * period / 1000000, quota) << files_["cpu.max"];
  }
  files_["cpu.max"] = "max 100000\n";
  EXPECT_EQ(Of({"cpu.max"})[1], (Property{"CPUQuotaPerSecUSec", kInfinity}));
}

TEST_F(PropertiesTest, KnowsWhichQuotasAreNoWholePercents) {
  files_["cpu.max"] = "50000 100000\n";
  EXPECT_THAT(Inexact(), IsEmpty());
  files_["cpu.max"] = "max 100000\n";
  EXPECT_THAT(Inexact(), IsEmpty());
  files_["cpu.max"] = "12500 100000\n";
  EXPECT_THAT(Inexact(), ElementsAre("cpu.max"));
  files_["cpu.max"] = "1000 1000000\n";
  EXPECT_THAT(Inexact(), ElementsAre("cpu.max"));
}

TEST_F(PropertiesTest, AnIdleGroupHasAWeightOfItsOwn) {
  files_ = {{"cpu.idle", "0\n"}, {"cpu.weight", "39\n"}};
  EXPECT_THAT(Of({"cpu.idle"}), ElementsAre(Property{"CPUWeight", uint64_t{39}}));
  files_["cpu.idle"] = "1\n";
  EXPECT_THAT(Of({"cpu.weight"}), ElementsAre(Property{"CPUWeight", uint64_t{0}}));
  files_.erase("cpu.idle");
  EXPECT_THAT(Of({"cpu.weight"}), ElementsAre(Property{"CPUWeight", uint64_t{39}}));
}

TEST_F(PropertiesTest, CpusAreBits) {
  files_ = {{"cpuset.cpus", "0-1,9\n"}, {"cpuset.mems", "\n"}};
  EXPECT_THAT(
      Of({"cpuset.cpus", "cpuset.mems"}),
      ElementsAre(Property{"AllowedCPUs", Bytes{3, 2}}, Property{"AllowedMemoryNodes", Bytes{}}));
}

TEST_F(PropertiesTest, RatesOfDisks) {
  files_ = {{"io.max",
             "8:0 rbps=1048576 wbps=max riops=max wiops=120\n"
             "253:1 rbps=5 wbps=max riops=max wiops=max\n"}};
  EXPECT_THAT(
      Of({"io.max"}),
      ElementsAre(Property{"IOReadBandwidthMax", Devices{}},
                  Property{"IOReadBandwidthMax", Devices{{"/dev/block/8:0", 1048576}}},
                  Property{"IOWriteBandwidthMax", Devices{}}, Property{"IOReadIOPSMax", Devices{}},
                  Property{"IOWriteIOPSMax", Devices{}},
                  Property{"IOWriteIOPSMax", Devices{{"/dev/block/8:0", 120}}}));
}

TEST_F(PropertiesTest, WeightsOfDisks) {
  files_ = {{"io.weight", "default 300\n8:16 700\n"}};
  EXPECT_THAT(
      Of({"io.weight"}),
      ElementsAre(Property{"IOWeight", uint64_t{300}}, Property{"IODeviceWeight", Devices{}},
                  Property{"IODeviceWeight", Devices{{"/dev/block/8:16", 700}}}));
  EXPECT_THAT(Inexact(), IsEmpty());
  files_["io.bfq.weight"] = "default 300\n";
  EXPECT_THAT(Inexact(), ElementsAre("io.bfq.weight")) << "systemd would have it 118";
  files_["io.bfq.weight"] = "100\n";
  files_["io.weight"] = "100\n";
  EXPECT_THAT(Inexact(), IsEmpty());
  files_ = {{"io.bfq.weight", "200\n"}};
  EXPECT_EQ(Of({"io.bfq.weight"})[0], (Property{"IOWeight", uint64_t{1200}}));
  EXPECT_THAT(Inexact(), IsEmpty());
}

// systemd writes a weight of a disk to both files.
TEST_F(PropertiesTest, BfqsWeightsOfDisksAreToldToo) {
  files_ = {{"io.weight", "default 100\n8:16 700\n"},
            {"io.bfq.weight", "default 100\n8:0 20\n8:16 70\n8:32 200\n253:0 5\n"}};
  EXPECT_THAT(
      Of({"io.bfq.weight"}),
      ElementsAre(Property{"IOWeight", uint64_t{100}}, Property{"IODeviceWeight", Devices{}},
                  Property{"IODeviceWeight", Devices{{"/dev/block/8:16", 700},
                                                     {"/dev/block/8:0", 20},
                                                     {"/dev/block/8:32", 1200}}}));
  EXPECT_THAT(Inexact(), ElementsAre("io.bfq.weight", "io.weight"));
}

TEST_F(PropertiesTest, RefusesWhatNoKernelWrites) {
  for (const auto& [file, text] : std::map<std::string, std::string>{{"memory.max", "64M"},
                                                                     {"cpu.max", "1"},
                                                                     {"cpuset.cpus", "a"},
                                                                     {"io.weight", "default x"},
                                                                     {"io.max", "8:0 rbps=x"}}) {
    files_ = {{file, text}};
    EXPECT_FALSE(PropertiesOf(
                     {file}, [this](absl::string_view name) { return Read(name); },
                     [](absl::string_view) { return true; })
                     .ok())
        << file;
  }
}

}  // namespace
}  // namespace plimsoll::systemd
