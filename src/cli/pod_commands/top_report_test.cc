#include "cli/pod_commands/top_report.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNanosOfASecond = 1'000'000'000;

// A container with `cpu_ms` of CPU time at `second`.
node::ContainerUsage Usage(const std::string& name, int second, uint64_t cpu_ms) {
  node::ContainerUsage usage;
  usage.set_pod_name("web");
  usage.set_pod_namespace("default");
  usage.set_pod_sandbox_id("sandbox");
  cri::ContainerStats* stats = usage.mutable_stats();
  stats->mutable_attributes()->set_id("id of " + name);
  stats->mutable_attributes()->mutable_metadata()->set_name(name);
  stats->mutable_cpu()->set_timestamp(second * kNanosOfASecond);
  stats->mutable_cpu()->mutable_usage_core_nano_seconds()->set_value(cpu_ms * 1'000'000);
  stats->mutable_memory()->mutable_working_set_bytes()->set_value(10 << 20);
  return usage;
}

node::ListUsageResponse UsageOf(const std::vector<node::ContainerUsage>& usages) {
  node::ListUsageResponse response;
  for (const auto& usage : usages) *response.add_containers() = usage;
  return response;
}

std::vector<std::string> Names(const std::vector<TopRow>& rows) {
  std::vector<std::string> names;
  for (const TopRow& row : rows) names.push_back(row.name);
  return names;
}

node::ContainerUsage Limited(const std::string& name, int second, uint64_t periods,
                             uint64_t throttled) {
  node::ContainerUsage usage = Usage(name, second, 100);
  usage.mutable_allotted()->set_cpu_quota(50000);
  usage.mutable_allotted()->set_cpu_period(100000);
  usage.mutable_allotted()->set_memory_limit_in_bytes(64 << 20);
  usage.set_cpu_periods(periods);
  usage.set_throttled_periods(throttled);
  return usage;
}

TEST(TopRows, RatesAreOfTheTimeBetween) {
  const auto rows =
      TopRows(UsageOf({Usage("a", 10, 1000), Limited("b", 10, 100, 50)}),
              UsageOf({Usage("a", 12, 1500), Limited("b", 12, 120, 55)}), TopOrder::kName);
  ASSERT_THAT(Names(rows), ElementsAre("web/a", "web/b"));
  EXPECT_DOUBLE_EQ(rows[0].cpu_millis.value(), 250);
  EXPECT_FALSE(rows[0].throttled_percent.has_value()) << "it has no quota";
  EXPECT_DOUBLE_EQ(rows[1].throttled_percent.value(), 25);
  EXPECT_FALSE(rows[0].pressure_percent.has_value());
}

TEST(TopRows, WhatCannotBeKnownIsAbsent) {
  // A new container, a restarted one with new counters, and a removed one.
  const auto rows =
      TopRows(UsageOf({Usage("again", 10, 1000), Usage("gone", 10, 0)}),
              UsageOf({Usage("new", 12, 1500), Usage("again", 12, 3)}), TopOrder::kCpu);
  ASSERT_THAT(Names(rows), ElementsAre("web/again", "web/new"));
  EXPECT_FALSE(rows[0].cpu_millis.has_value());
  EXPECT_FALSE(rows[1].cpu_millis.has_value());
  // A container that was idle had no period.
  EXPECT_EQ(
      TopRows(UsageOf({Limited("b", 1, 5, 5)}), UsageOf({Limited("b", 2, 5, 5)}), TopOrder::kCpu)[0]
          .throttled_percent,
      0);
}

TEST(TopRows, EachOrder) {
  node::ContainerUsage a = Usage("a", 12, 0);
  node::ContainerUsage b = Usage("b", 12, 500);
  node::ContainerUsage c = Limited("c", 12, 10, 10);
  a.mutable_stats()->mutable_memory()->mutable_working_set_bytes()->set_value(20 << 20);
  a.mutable_stats()->mutable_memory()->mutable_psi()->mutable_some()->set_avg10(3);
  b.mutable_stats()->mutable_cpu()->mutable_psi()->mutable_some()->set_avg10(5);
  const auto before = UsageOf({Usage("a", 10, 0), Usage("b", 10, 0), Limited("c", 10, 0, 0)});
  const auto names = [&](TopOrder order) {
    return Names(TopRows(before, UsageOf({c, b, a}), order));
  };
  EXPECT_THAT(names(TopOrder::kName), ElementsAre("web/a", "web/b", "web/c"));
  EXPECT_THAT(names(TopOrder::kCpu), ElementsAre("web/b", "web/a", "web/c"));
  EXPECT_THAT(names(TopOrder::kMemory), ElementsAre("web/a", "web/b", "web/c"));
  EXPECT_THAT(names(TopOrder::kThrottled), ElementsAre("web/c", "web/a", "web/b"));
  EXPECT_THAT(names(TopOrder::kPressure), ElementsAre("web/b", "web/a", "web/c"));
}

TEST(TopTable, ShowsFromRequestToUse) {
  node::ContainerUsage usage = Limited("a", 12, 20, 5);
  (*usage.mutable_asked()->mutable_requests())["cpu"].set_string("250m");
  (*usage.mutable_asked()->mutable_limits())["cpu"].set_string("0.5");
  (*usage.mutable_asked()->mutable_limits())["memory"].set_string("64Mi");
  usage.mutable_stats()->mutable_cpu()->mutable_psi()->mutable_some()->set_avg10(12.3);
  usage.mutable_stats()->mutable_io()->mutable_psi()->mutable_some()->set_avg10(0.5);
  (*usage.mutable_classes())["rdt"] = "gold";
  (*usage.mutable_classes())["blockio"] = "";
  node::ContainerUsage before = Limited("a", 10, 0, 0);
  before.mutable_stats()->mutable_cpu()->mutable_usage_core_nano_seconds()->set_value(0);
  const auto rows = TopRows(UsageOf({before}), UsageOf({usage}), TopOrder::kCpu);
  EXPECT_EQ(TopTable(rows, /*wide=*/false),
            "CONTAINER  CPU ASKED  ALLOTTED  USED  THROTTLED  MEM ASKED  MEM ALLOTTED  MEM USED  "
            "PRESSURE  CLASS\n"
            "web/a      250m/0.5   500m      50m   25%        -/64Mi     64 MiB        10 MiB    "
            "cpu 12%   rdt gold\n");
  EXPECT_THAT(TopTable(rows, /*wide=*/true), AllOf(HasSubstr("SHARES"), HasSubstr("PROCESSES")));
}

TEST(TopTable, ATextThatWouldDriveTheTerminalDoesNot) {
  EXPECT_THAT(TopTable(TopRows({}, UsageOf({Usage("\x1b[2J", 1, 0)}), TopOrder::kCpu), false),
              Not(HasSubstr("\x1b")));
}

TEST(TopJson, NullIsWhatIsNotThere) {
  const auto plain =
      nlohmann::json::parse(TopJson(TopRows({}, UsageOf({Usage("a", 1, 0)}), TopOrder::kCpu),
                                    absl::UnixEpoch(), absl::Milliseconds(1500)));
  EXPECT_EQ(plain["time"], "1970-01-01T00:00:00+00:00");
  EXPECT_EQ(plain["intervalSeconds"], 1.5);
  const auto& container = plain["containers"].at(0);
  EXPECT_EQ(container["name"], "a");
  EXPECT_EQ(container["pod"], "web");
  EXPECT_TRUE(container["asked"].is_null());
  EXPECT_TRUE(container["allotted"]["cpuMillis"].is_null());
  EXPECT_TRUE(container["allotted"]["memoryBytes"].is_null());
  EXPECT_TRUE(container["used"]["cpuMillis"].is_null());
  EXPECT_EQ(container["used"]["memoryBytes"], 10 << 20);
  EXPECT_TRUE(container["throttledPercent"].is_null());
  EXPECT_TRUE(container["pressure"].is_null());

  node::ContainerUsage usage = Limited("a", 12, 20, 5);
  (*usage.mutable_asked()->mutable_requests())["cpu"].set_string("250m");
  usage.mutable_stats()->mutable_io()->mutable_psi()->mutable_full()->set_avg10(2.5);
  (*usage.mutable_classes())["rdt"] = "gold";
  const auto full = nlohmann::json::parse(TopJson(
      TopRows(UsageOf({Limited("a", 10, 0, 0)}), UsageOf({usage}), TopOrder::kCpu),
      absl::UnixEpoch(), absl::Seconds(2)))["containers"]
                        .at(0);
  EXPECT_EQ(full["asked"]["requests"]["cpu"], "250m");
  EXPECT_EQ(full["allotted"]["cpuMillis"], 500);
  EXPECT_EQ(full["allotted"]["memoryBytes"], 64 << 20);
  EXPECT_EQ(full["throttledPercent"], 25);
  EXPECT_EQ(full["pressure"]["io"]["fullAvg10"], 2.5);
  EXPECT_EQ(full["classes"]["rdt"], "gold");
  EXPECT_EQ(nlohmann::json::parse(TopJson({}, absl::UnixEpoch(), absl::Seconds(2)))["containers"],
            nlohmann::json::array());
}

TEST(FitToScreen, CutsLinesAndSaysHowManyAreLeftOut) {
  EXPECT_EQ(FitToScreen("abcdef\ng\n", 4, 5), "abcd\ng\n");
  EXPECT_EQ(FitToScreen("a\nb\nc\nd\n", 20, 3), "a\nb\n... and 2 more\n");
  EXPECT_EQ(FitToScreen("a\nb\nc\n", 20, 3), "a\nb\nc\n");
  // Counts characters, not bytes.
  EXPECT_EQ(FitToScreen("\xc3\xa4\xc3\xb6\xc3\xbc\n", 2, 3), "\xc3\xa4\xc3\xb6\n");
}

}  // namespace
}  // namespace plimsoll::cli
