#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "nri/messages/messages.h"

namespace plimsoll::nri {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

api::LinuxResources FromText(const std::string& text) {
  api::LinuxResources resources;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &resources)) << text;
  return resources;
}

// Where resources go.
struct ReadTo {
  linux::CgroupSettings settings;
  qos::ClassNames classes;
  runtime::MoreMemory more;
  runtime::RealtimeCpu realtime;
  bool operator==(const ReadTo&) const = default;

  absl::Status Read(const api::LinuxResources& resources) {
    return ReadResources(resources, {&settings, &classes, &more, &realtime});
  }
};

// A value for each field of the message, by the protocol's name.
const std::vector<std::pair<std::string, std::string>>& OneOfEach() {
  static const auto& kAll = *new std::vector<std::pair<std::string, std::string>>{
      {"memory.limit", "memory { limit { value: 8388608 } }"},
      {"memory.reservation", "memory { reservation { value: 4096 } }"},
      {"memory.swap", "memory { swap { value: 16777216 } }"},
      {"memory.kernel", "memory { kernel { value: 4096 } }"},
      {"memory.kernel_tcp", "memory { kernel_tcp { value: 4096 } }"},
      {"memory.swappiness", "memory { swappiness { value: 60 } }"},
      {"memory.disable_oom_killer", "memory { disable_oom_killer { value: true } }"},
      {"memory.use_hierarchy", "memory { use_hierarchy { value: true } }"},
      {"cpu.shares", "cpu { shares { value: 512 } }"},
      {"cpu.quota", "cpu { quota { value: 20000 } }"},
      {"cpu.period", "cpu { period { value: 50000 } }"},
      {"cpu.realtime_runtime", "cpu { realtime_runtime { value: 1000 } }"},
      {"cpu.realtime_period", "cpu { realtime_period { value: 2000 } }"},
      {"cpu.cpus", "cpu { cpus: '0-3,8' }"},
      {"cpu.mems", "cpu { mems: '0' }"},
      {"hugepage_limits", "hugepage_limits { page_size: '2MB' limit: 4194304 }"},
      {"blockio_class", "blockio_class { value: 'slow' }"},
      {"rdt_class", "rdt_class { value: 'half' }"},
      {"unified", "unified { key: 'memory.high' value: '900000' }"},
      {"pids", "pids { limit: 100 }"},
  };
  return kAll;
}

// All in one message.
api::LinuxResources Everything() {
  api::LinuxResources merged;
  for (const auto& [field, value] : OneOfEach()) merged.MergeFrom(FromText(value));
  return merged;
}

TEST(ReadResourcesTest, OneOfEachNamesEveryField) {
  std::set<std::string> expected = {"devices"};  // refused: see RefusesDeviceRulesAlone
  const auto add = [&](const google::protobuf::Descriptor* message, const std::string& prefix) {
    for (int i = 0; i < message->field_count(); ++i) {
      expected.insert(prefix + message->field(i)->name());
    }
  };
  add(api::LinuxResources::descriptor(), "");
  add(api::LinuxMemory::descriptor(), "memory.");
  add(api::LinuxCPU::descriptor(), "cpu.");
  expected.erase("memory");
  expected.erase("cpu");
  std::set<std::string> tested = {"devices"};
  for (const auto& [field, value] : OneOfEach()) tested.insert(field);
  EXPECT_EQ(tested, expected);
}

TEST(ReadResourcesTest, EachFieldAloneChangesItsMember) {
  for (const auto& [field, value] : OneOfEach()) {
    ReadTo to;
    const absl::Status read = to.Read(FromText(value));
    EXPECT_TRUE(read.ok()) << field << ": " << read;
    EXPECT_NE(to, ReadTo()) << field << " is dropped";
  }
}

TEST(ReadResourcesTest, PutsEachFieldWhereItBelongs) {
  ReadTo to;
  ASSERT_TRUE(to.Read(Everything()).ok());
  ReadTo expected;
  expected.settings.memory_limit_bytes = 8388608;
  expected.settings.memory_swap_limit_bytes = 16777216;
  expected.settings.cpu_shares = 512;
  expected.settings.cpu_quota_us = 20000;
  expected.settings.cpu_period_us = 50000;
  expected.settings.cpuset_cpus = "0-3,8";
  expected.settings.cpuset_mems = "0";
  expected.settings.hugetlb_limits = {{"2MB", 4194304}};
  expected.settings.unified = {{"memory.high", "900000"}};
  expected.settings.pids_limit = 100;
  expected.classes = {{"blockio", "slow"}, {"rdt", "half"}};
  expected.more = {.reservation_bytes = 4096,
                   .kernel_bytes = 4096,
                   .kernel_tcp_bytes = 4096,
                   .swappiness = 60,
                   .disable_oom_killer = true,
                   .use_hierarchy = true};
  expected.realtime = {.runtime_us = 1000, .period_us = 2000};
  EXPECT_EQ(to, expected);
}

TEST(ReadResourcesTest, AbsentMembersStay) {
  ReadTo to;
  ASSERT_TRUE(to.Read(Everything()).ok());
  const ReadTo before = to;
  ASSERT_TRUE(to.Read(api::LinuxResources()).ok());
  EXPECT_EQ(to, before);
  // 0 is absent, too, for the OCI runtime.
  ASSERT_TRUE(to.Read(FromText("memory { limit {} swap {} kernel {} } "
                               "cpu { shares {} quota {} period {} } pids {}"))
                  .ok());
  EXPECT_EQ(to, before);
}

TEST(ReadResourcesTest, MinusOneIsNoLimit) {
  ReadTo to;
  ASSERT_TRUE(to.Read(FromText("memory { limit { value: -1 } swap { value: -1 } } "
                               "cpu { quota { value: -1 } } pids { limit: -1 }"))
                  .ok());
  EXPECT_EQ(to.settings.memory_limit_bytes, -1);
  EXPECT_EQ(to.settings.memory_swap_limit_bytes, -1);
  EXPECT_EQ(to.settings.cpu_quota_us, -1);
  EXPECT_EQ(to.settings.pids_limit, -1);
}

TEST(ReadResourcesTest, AMemoryLimitAloneKeepsTheSwapPart) {
  const struct {
    std::optional<int64_t> limit, swap;  // present ones
    int64_t new_limit;
    std::optional<int64_t> new_swap;
  } kCases[] = {
      {1000, 1000, 5000, 5000},         // no swap
      {1000, 3000, 5000, 7000},         // 2000 bytes of it
      {1000, 3000, 500, 2500},          // a smaller limit
      {1000, -1, 5000, -1},             // any amount
      {1000, std::nullopt, 5000, {}},   // the kernel's
      {1000, 3000, -1, -1},             // with no limit there is none of both
      {{}, 3000, 5000, 8000},           // limit unknown
      {1, INT64_MAX, 9000, INT64_MAX},  // no overflow
  };
  for (const auto& each : kCases) {
    ReadTo to;
    to.settings.memory_limit_bytes = each.limit;
    to.settings.memory_swap_limit_bytes = each.swap;
    api::LinuxResources resources;
    resources.mutable_memory()->mutable_limit()->set_value(each.new_limit);
    ASSERT_TRUE(to.Read(resources).ok());
    EXPECT_EQ(to.settings.memory_limit_bytes, each.new_limit);
    EXPECT_EQ(to.settings.memory_swap_limit_bytes, each.new_swap);
  }
}

TEST(ReadResourcesTest, RefusesValuesOutOfRangeByName) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"memory.limit", "memory { limit { value: -2 } }"},
      {"memory.swap", "memory { swap { value: -2 } }"},
      {"memory.swap", "memory { limit { value: 4096 } swap { value: 4095 } }"},
      {"memory.swap", "memory { limit { value: -1 } swap { value: 4095 } }"},
      {"memory.reservation", "memory { reservation { value: -2 } }"},
      {"memory.kernel", "memory { kernel { value: -2 } }"},
      {"memory.kernel_tcp", "memory { kernel_tcp { value: -2 } }"},
      {"memory.swappiness", "memory { swappiness { value: 101 } }"},
      {"cpu.shares", "cpu { shares { value: 1 } }"},
      {"cpu.shares", "cpu { shares { value: 262145 } }"},
      {"cpu.quota", "cpu { quota { value: 999 } }"},
      {"cpu.quota", "cpu { quota { value: -2 } }"},
      {"cpu.quota", "cpu { quota { value: 17592186044416 } }"},
      {"cpu.period", "cpu { period { value: 999 } }"},
      {"cpu.period", "cpu { period { value: 1000001 } }"},
      {"cpu.realtime_runtime", "cpu { realtime_runtime { value: -2 } }"},
      {"cpu.realtime_period", "cpu { realtime_period { value: 2147483648 } }"},
      {"cpu.cpus", "cpu { cpus: '3-0' }"},
      {"cpu.cpus", "cpu { cpus: ' ' }"},
      {"cpu.mems", "cpu { mems: 'all' }"},
      {"hugepage_limits.page_size", "hugepage_limits { page_size: '2Mi' limit: 1 }"},
      {"hugepage_limits.page_size", "hugepage_limits { limit: 1 }"},
      {"hugepage_limits.page_size",
       "hugepage_limits { page_size: '2MB' } hugepage_limits { page_size: '2MB' }"},
      {"unified", "unified { key: 'cgroup.procs' value: '1' }"},
      {"unified", "unified { key: '../memory.high' value: '1' }"},
      {"unified", "unified { key: 'memory' value: '1' }"},
      {"unified", "unified { key: 'memory.' value: '1' }"},
      {"unified[memory.high]", "unified { key: 'memory.high' value: ' ' }"},
      {"pids.limit", "pids { limit: -2 }"},
      {"pids.limit", "pids { limit: 2147483648 }"},
  };
  for (const auto& [field, text] : kWrong) {
    ReadTo to;
    to.settings.cpu_shares = 77;
    const ReadTo before = to;
    const absl::Status read = to.Read(FromText(text));
    EXPECT_TRUE(absl::IsInvalidArgument(read)) << text << ": " << read;
    EXPECT_THAT(read.message(), HasSubstr(std::string("linux.resources.") + field + " ")) << text;
    EXPECT_EQ(to, before) << text;
  }
}

TEST(ReadResourcesTest, AMistakeLeavesEverythingAsItWas) {
  api::LinuxResources resources = Everything();
  resources.mutable_pids()->set_limit(-7);  // read last
  ReadTo to;
  EXPECT_TRUE(absl::IsInvalidArgument(to.Read(resources)));
  EXPECT_EQ(to, ReadTo());
}

TEST(ReadResourcesTest, HostileTextIsCutAndEscaped) {
  api::LinuxResources resources;
  resources.mutable_cpu()->set_cpus(std::string(100000, '\n'));
  ReadTo to;
  const absl::Status read = to.Read(resources);
  EXPECT_TRUE(absl::IsInvalidArgument(read));
  EXPECT_LT(read.message().size(), 1000u);
  EXPECT_EQ(read.message().find('\n'), absl::string_view::npos);
}

TEST(ReadResourcesTest, AnUpdateRefusesWhatOnlyACreationCanSet) {
  int refused = 0;
  for (const auto& [field, value] : OneOfEach()) {
    linux::CgroupSettings settings;
    qos::ClassNames classes;
    const absl::Status read =
        ReadResources(FromText(value), {.settings = &settings, .classes = &classes});
    if (read.ok()) continue;
    ++refused;
    EXPECT_TRUE(absl::IsUnimplemented(read)) << field << ": " << read;
    EXPECT_THAT(read.message(), HasSubstr("linux.resources." + field + " "));
    EXPECT_EQ(settings, linux::CgroupSettings());
  }
  EXPECT_EQ(refused, 8);  // six of MoreMemory, two of RealtimeCpu
}

TEST(ReadResourcesTest, RefusesDeviceRulesAlone) {
  ReadTo to;
  const absl::Status read = to.Read(FromText("devices { allow: true type: 'c' access: 'rwm' }"));
  EXPECT_TRUE(absl::IsUnimplemented(read)) << read;
  EXPECT_THAT(read.message(), HasSubstr("linux.resources.devices"));
}

TEST(ReadResourcesTest, AnEmptyClassIsTheDefault) {
  ReadTo to;
  to.classes = {{"rdt", "half"}};
  ASSERT_TRUE(to.Read(FromText("rdt_class {}")).ok());
  EXPECT_EQ(to.classes, (qos::ClassNames{{"rdt", ""}}));
}

TEST(ReadResourcesTest, ALongListIsWrittenShort) {
  std::string list = "0";
  for (int i = 1; i < 200; ++i) list += "," + std::to_string(i);
  ReadTo to;
  api::LinuxResources resources;
  resources.mutable_cpu()->set_cpus(list);
  ASSERT_TRUE(to.Read(resources).ok());
  EXPECT_EQ(to.settings.cpuset_cpus, "0-199");
}

TEST(MakeResourcesTest, ReadingThemGivesTheSame) {
  ReadTo to;
  ASSERT_TRUE(to.Read(Everything()).ok());
  ReadTo again;
  ASSERT_TRUE(again.Read(MakeResources(to.settings, to.classes)).ok());
  EXPECT_EQ(again.settings, to.settings);
  EXPECT_EQ(again.classes, to.classes);
}

// Plugins written in Go read members of `cpu` and `memory` without asking.
TEST(MakeResourcesTest, HasCpuAndMemoryEvenEmpty) {
  const api::LinuxResources resources = MakeResources({}, {{"other-type", "gold"}});
  EXPECT_TRUE(resources.has_cpu());
  EXPECT_TRUE(resources.has_memory());
  EXPECT_TRUE(MessageDifferencer::Equivalent(resources, FromText("cpu {} memory {}")));
}

}  // namespace
}  // namespace plimsoll::nri
