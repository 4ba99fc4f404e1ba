#include "cri/messages/translate_resources.h"

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::HasSubstr;

TEST(CgroupSettingsTest, TranslatesEveryMember) {
  v1::LinuxContainerResources resources;
  resources.set_cpu_period(50000);
  resources.set_cpu_quota(20000);
  resources.set_cpu_shares(512);
  resources.set_memory_limit_in_bytes(1 << 20);
  resources.set_memory_swap_limit_in_bytes(2 << 20);
  resources.set_oom_score_adj(-997);
  resources.set_cpuset_cpus("0-3,8");
  resources.set_cpuset_mems("0");
  v1::HugepageLimit* pages = resources.add_hugepage_limits();
  pages->set_page_size("2MB");
  pages->set_limit(4 << 20);
  (*resources.mutable_unified())["memory.high"] = "900000";
  const absl::StatusOr<linux::CgroupSettings> settings = CgroupSettingsFrom(resources, "linux");
  ASSERT_TRUE(settings.ok()) << settings.status();
  linux::CgroupSettings expected;
  expected.cpu_period_us = 50000;
  expected.cpu_quota_us = 20000;
  expected.cpu_shares = 512;
  expected.memory_limit_bytes = 1 << 20;
  expected.memory_swap_limit_bytes = 2 << 20;
  expected.cpuset_cpus = "0-3,8";
  expected.cpuset_mems = "0";
  expected.hugetlb_limits = {{"2MB", 4 << 20}};
  expected.unified = {{"memory.high", "900000"}};
  EXPECT_EQ(*settings, expected);
}

TEST(CgroupSettingsTest, ZeroAndEmptyAreAbsent) {
  EXPECT_EQ(*CgroupSettingsFrom({}, "linux"), linux::CgroupSettings());
}

TEST(CgroupSettingsTest, MinusOneIsNoLimit) {
  v1::LinuxContainerResources resources;
  resources.set_cpu_quota(-1);
  resources.set_memory_limit_in_bytes(-1);
  resources.set_memory_swap_limit_in_bytes(-1);
  const absl::StatusOr<linux::CgroupSettings> settings = CgroupSettingsFrom(resources, "linux");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->cpu_quota_us, -1);
  EXPECT_EQ(settings->memory_limit_bytes, -1);
  EXPECT_EQ(settings->memory_swap_limit_bytes, -1);
}

TEST(CgroupSettingsTest, RefusesWhatIsOutOfRangeByName) {
  const struct {
    const char* field;
    std::function<void(v1::LinuxContainerResources*)> set;
  } cases[] = {
      {"cpu_shares is 1:", [](auto* r) { r->set_cpu_shares(1); }},
      {"cpu_shares is 262145:", [](auto* r) { r->set_cpu_shares(262145); }},
      {"cpu_shares is -5:", [](auto* r) { r->set_cpu_shares(-5); }},
      {"cpu_quota is 999:", [](auto* r) { r->set_cpu_quota(999); }},
      {"cpu_quota is -2:", [](auto* r) { r->set_cpu_quota(-2); }},
      {"cpu_period is 999:", [](auto* r) { r->set_cpu_period(999); }},
      {"cpu_period is 1000001:", [](auto* r) { r->set_cpu_period(1000001); }},
      {"cpu_period is -1:", [](auto* r) { r->set_cpu_period(-1); }},
      {"memory_limit_in_bytes is -2:", [](auto* r) { r->set_memory_limit_in_bytes(-2); }},
      {"memory_swap_limit_in_bytes is -2:", [](auto* r) { r->set_memory_swap_limit_in_bytes(-2); }},
      {"memory_swap_limit_in_bytes is 5:",
       [](auto* r) {
         r->set_memory_limit_in_bytes(6);
         r->set_memory_swap_limit_in_bytes(5);
       }},
      {"oom_score_adj is 1001:", [](auto* r) { r->set_oom_score_adj(1001); }},
      {"oom_score_adj is -1001:", [](auto* r) { r->set_oom_score_adj(-1001); }},
      {"cpuset_cpus is \"3-1\":", [](auto* r) { r->set_cpuset_cpus("3-1"); }},
      {"cpuset_cpus is \"a\":", [](auto* r) { r->set_cpuset_cpus("a"); }},
      {"cpuset_mems is \" \":", [](auto* r) { r->set_cpuset_mems(" "); }},
      {"page_size is \"2M\":", [](auto* r) { r->add_hugepage_limits()->set_page_size("2M"); }},
      {"page_size is \"../MB\":",
       [](auto* r) { r->add_hugepage_limits()->set_page_size("../MB"); }},
      {"page_size is \"1GB\": must not be given twice",
       [](auto* r) {
         r->add_hugepage_limits()->set_page_size("1GB");
         r->add_hugepage_limits()->set_page_size("1GB");
       }},
      {"unified is \"../x.y\":", [](auto* r) { (*r->mutable_unified())["../x.y"] = "1"; }},
      {"unified is \"cgroup.procs\":",
       [](auto* r) { (*r->mutable_unified())["cgroup.procs"] = "1"; }},
      {"unified is \"memory\":", [](auto* r) { (*r->mutable_unified())["memory"] = "1"; }},
  };
  for (const auto& test : cases) {
    v1::LinuxContainerResources resources;
    test.set(&resources);
    const absl::Status status = CgroupSettingsFrom(resources, "config.linux").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << test.field << " gave " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test.field));
    EXPECT_THAT(std::string(status.message()), HasSubstr("config.linux."));
  }
}

TEST(ResourceUpdateTest, OomScoreOfZeroStays) {
  v1::UpdateContainerResourcesRequest request;
  request.mutable_linux()->set_cpuset_cpus("1");
  absl::StatusOr<runtime::ResourceUpdate> update = ResourceUpdateFrom(request);
  ASSERT_TRUE(update.ok());
  EXPECT_EQ(update->oom_score_adj, std::nullopt);
  EXPECT_EQ(update->cgroup.cpuset_cpus, "1");
  request.mutable_linux()->set_oom_score_adj(500);
  EXPECT_EQ(ResourceUpdateFrom(request)->oom_score_adj, 500);
}

TEST(ResourceUpdateTest, BothPlacesMayBeFilledAlike) {
  v1::UpdateContainerResourcesRequest request;
  request.mutable_resources()->mutable_linux()->set_cpu_shares(100);
  EXPECT_EQ(ResourceUpdateFrom(request)->cgroup.cpu_shares, 100u);
  request.mutable_linux()->set_cpu_shares(100);
  for (const char* size : {"2MB", "1GB"}) {
    request.mutable_linux()->add_hugepage_limits()->set_page_size(size);
  }
  for (const char* size : {"1GB", "2MB"}) {
    request.mutable_resources()->mutable_linux()->add_hugepage_limits()->set_page_size(size);
  }
  const auto update = ResourceUpdateFrom(request);
  ASSERT_TRUE(update.ok()) << update.status();
  EXPECT_EQ(update->cgroup.cpu_shares, 100u);
}

TEST(ResourceUpdateTest, TwoPlacesThatDifferAreRefusedByMember) {
  const auto refused = [](const v1::UpdateContainerResourcesRequest& request) {
    const absl::Status status = ResourceUpdateFrom(request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  v1::UpdateContainerResourcesRequest request;
  request.mutable_linux()->set_cpu_shares(200);
  request.mutable_resources()->mutable_linux();
  EXPECT_THAT(refused(request), HasSubstr("linux.cpu_shares and resources.linux.cpu_shares"))
      << "one that is empty is no leave to forget the other";
  request.mutable_resources()->mutable_linux()->set_cpu_shares(100);
  EXPECT_THAT(refused(request), HasSubstr("resources.linux.cpu_shares differ"));
  request.mutable_resources()->mutable_linux()->set_cpu_shares(200);
  (*request.mutable_resources()->mutable_linux()->mutable_unified())["memory.low"] = "1";
  EXPECT_THAT(refused(request), HasSubstr("resources.linux.unified differ"));
  request.mutable_linux()->Clear();
  EXPECT_THAT(refused(request), HasSubstr("resources.linux.cpu_shares differ"));
}

TEST(ResourceUpdateTest, WindowsIsForOtherMachines) {
  v1::UpdateContainerResourcesRequest request;
  request.mutable_windows();
  absl::Status status = ResourceUpdateFrom(request).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("windows is for Windows containers"));
  request.clear_windows();
  request.mutable_resources()->mutable_linux()->set_cpu_shares(100);
  request.mutable_resources()->mutable_windows();
  status = ResourceUpdateFrom(request).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("resources.windows is for Windows containers"));
  EXPECT_THAT(status.message(), HasSubstr("send resources.linux alone"));
}

TEST(ResourceUpdateTest, LeavesExtensionsAlone) {
  v1::UpdateContainerResourcesRequest request;
  (*request.mutable_class_resources()->mutable_classes())["rdt"] = "gold";
  (*request.mutable_kubernetes_resources()->mutable_requests())["cpu"].set_string("1");
  EXPECT_EQ(ResourceUpdateFrom(request)->cgroup, linux::CgroupSettings());
}

TEST(AsksToShrinkTest, TheUpdatesAnnotationStandsBeforeThePods) {
  const CriAnnotations none;
  CriAnnotations asks;
  asks["plimsoll.dev/memory-shrink"] = "best-effort";
  CriAnnotations wrong;
  wrong["plimsoll.dev/memory-shrink"] = "please";
  EXPECT_FALSE(*AsksToShrink(none, none));
  EXPECT_TRUE(*AsksToShrink(asks, none));
  EXPECT_TRUE(*AsksToShrink(none, asks));
  EXPECT_TRUE(*AsksToShrink(asks, wrong));
  EXPECT_THAT(
      AsksToShrink(wrong, asks).status().message(),
      HasSubstr("annotations[plimsoll.dev/memory-shrink] is \"please\": must be best-effort"));
  EXPECT_THAT(AsksToShrink(none, wrong).status().message(), HasSubstr("the pod's annotations["));
}

TEST(FillLinuxResourcesTest, GivesBackWhatTheKernelHolds) {
  v1::LinuxContainerResources wanted;
  wanted.set_cpu_shares(512);
  wanted.set_cpu_quota(-1);
  wanted.set_cpu_period(100000);
  wanted.set_memory_limit_in_bytes(1 << 20);
  wanted.set_cpuset_cpus("0");
  wanted.add_hugepage_limits()->set_page_size("2MB");
  (*wanted.mutable_unified())["memory.high"] = "7";
  wanted.set_oom_score_adj(-3);
  runtime::EffectiveResources effective;
  effective.cgroup = *CgroupSettingsFrom(wanted, "linux");
  effective.oom_score_adj = -3;
  v1::LinuxContainerResources shown;
  FillLinuxResources(effective, &shown);
  EXPECT_EQ(shown.DebugString(), wanted.DebugString());
}

}  // namespace
}  // namespace plimsoll::cri
