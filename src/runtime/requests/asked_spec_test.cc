#include "runtime/requests/asked_spec.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr linux::CgroupLayout kV2 = linux::CgroupLayout::kV2;

ContainerSpec Spec() {
  ContainerSpec spec;
  spec.name = "web";
  spec.resources.cpu_shares = 1024;
  spec.mounts = {{.container_path = "/c"}};
  spec.cdi_devices = {"vendor.com/gpu=0"};
  return spec;
}

TEST(AskedSpecTest, WhatPluginsLeaveIsNotKeptTwice) {
  ContainerSpec adjusted = Spec();
  adjusted.environment = {{"A", "1"}};
  EXPECT_EQ(TakeAdjusted(Spec(), adjusted), adjusted);
  EXPECT_EQ(AsAsked(adjusted), adjusted);
}

TEST(AskedSpecTest, EachMemberOfThePictureIsKept) {
  const auto change = [](auto&& set) {
    ContainerSpec spec = Spec();
    set(spec);
    return spec;
  };
  for (const ContainerSpec& adjusted :
       {change([](ContainerSpec& spec) { spec.resources.pids_limit = 3; }),
        change([](ContainerSpec& spec) { spec.mounts.clear(); }), change([](ContainerSpec& spec) {
          spec.devices.push_back({"/dev/a", "/dev/a", "r"});
        }),
        change([](ContainerSpec& spec) { spec.cdi_devices.clear(); })}) {
    const ContainerSpec taken = TakeAdjusted(Spec(), adjusted);
    EXPECT_TRUE(taken.asked.has_value());
    EXPECT_EQ(AsAsked(taken), Spec());
  }
}

TEST(AskedSpecTest, UpdatesOfAClientAreBoth) {
  ContainerSpec spec = Spec();
  TakeUpdate({.cgroup = {.cpu_shares = 2}, .oom_score_adj = 5}, {.cpu_shares = 2}, kV2, &spec);
  EXPECT_EQ(spec.asked, std::nullopt);
  EXPECT_EQ(spec.resources.cpu_shares, 2u);
  EXPECT_EQ(spec.oom_score_adj, 5);
}

TEST(AskedSpecTest, UpdatesOfPluginsAreNotAsked) {
  ContainerSpec spec = Spec();
  TakeUpdate({.cgroup = {.cpu_shares = 2}}, {}, kV2, &spec);
  EXPECT_EQ(spec.resources.cpu_shares, 2u);
  EXPECT_EQ(AsAsked(spec), Spec());
  TakeUpdate({.cgroup = {.cpu_shares = 3, .pids_limit = 4}}, {.pids_limit = 5}, kV2, &spec);
  EXPECT_EQ(spec.resources.pids_limit, 4);
  EXPECT_EQ(AsAsked(spec).resources.pids_limit, 5);
  EXPECT_EQ(AsAsked(spec).resources.cpu_shares, 1024u);
}

TEST(AskedSpecTest, TheLaterWordOnAFieldCounts) {
  const PluginChange env = {"env", "A", "10-a"};
  const PluginChange cpus = {"linux.resources.cpu.cpus", "", "10-a"};
  const PluginChange high = {"linux.resources.unified", "memory.high", "10-a"};
  const PluginChange low = {"linux.resources.unified", "memory.low", "10-a"};
  const PluginChange rdt = {"linux.resources.rdt_class", "", "10-a"};
  ContainerSpec spec = Spec();
  spec.changed_by = {env, cpus, high, low, rdt};
  TakeUpdate({.cgroup = {.cpuset_cpus = "1", .unified = {{"memory.high", "1"}}},
              .classes = {{"rdt", "gold"}}},
             {}, kV2, &spec);
  EXPECT_THAT(spec.changed_by, ElementsAre(env, low));
  const PluginChange by_b = {"linux.resources.cpu.cpus", "", "20-b"};
  for (int i = 0; i < 2; ++i) {
    TakeUpdate({.cgroup = {.cpuset_cpus = "2"}, .changed_by = {by_b}}, {}, kV2, &spec);
    EXPECT_THAT(spec.changed_by, ElementsAre(env, low, by_b));
  }
}

TEST(AskedSpecTest, PluginsAreNamedOnceAndBounded) {
  const absl::Status no = ErrnoStatus(EBUSY, "no");
  EXPECT_EQ(NamePlugins(no, {}), no);
  const std::vector<PluginChange> env = {{"env", "A", "10-a"}, {"env", "B", "10-a"}};
  EXPECT_TRUE(NamePlugins(absl::OkStatus(), env).ok());
  const absl::Status by_one = NamePlugins(no, env);
  EXPECT_EQ(by_one.message(),
            absl::StrCat(no.message(), " (plugin 10-a has changed this request: env)"));
  EXPECT_EQ(by_one.code(), no.code());
  EXPECT_EQ(ErrnoOf(by_one), EBUSY);
  std::vector<PluginChange> many;
  for (int i = 0; i < 100; ++i) many.push_back({absl::StrCat("field-", i), "", "20-b"});
  many.push_back({"env", "", "10-a"});
  const std::string named(NamePlugins(no, many).message());
  EXPECT_THAT(named,
              HasSubstr(" (plugins 10-a and 20-b have changed this request: field-0, field-1"));
  EXPECT_THAT(named, HasSubstr(", ...)"));
  EXPECT_THAT(named, Not(HasSubstr("field-50")));
}

}  // namespace
}  // namespace plimsoll::runtime
