#include "runtime/handlers/pod_size.h"

#include <optional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using resources::Quantity;
using resources::Requirements;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Quantity Q(const std::string& text) {
  return *Quantity::Parse(text);
}

std::vector<VfioGroup> Groups() {
  return {{"42", {{"0000:3b:00.0", "030200", PortKind::kRoot}}},
          {"7",
           {{"0000:5e:00.0", "020000", PortKind::kSwitch},
            {"0000:5e:00.1", "020000", PortKind::kSwitch}}}};
}

Handler Vm() {
  Handler handler;
  handler.is_vm = true;
  handler.resource_annotations = {{"sgx.intel.com/epc", "sgx.intel.com/epc"}};
  return handler;
}

TEST(PodSizeTest, OfEachResourceTheLargerOfLimitAndRequest) {
  const Requirements total = {.requests = {{"cpu", Q("2500m")},
                                           {"memory", Q("1Gi")},
                                           {"sgx.intel.com/epc", Q("512Ki")},
                                           {"example.com/none", Q("0")}},
                              .limits = {{"cpu", Q("1")},
                                         {"memory", Q("1536Mi")},
                                         {"hugepages-2Mi", Q("4Mi")},
                                         {"sgx.intel.com/epc", Q("512Ki")}}};
  const PodSize size = SizeFor(Vm(), total, Groups());
  EXPECT_EQ(size.vcpus, 3);
  EXPECT_EQ(size.memory_bytes, int64_t{1536} << 20);
  EXPECT_THAT(size.hugepages, ElementsAre(Pair("2Mi", int64_t{4} << 20)));
  EXPECT_THAT(size.resources, ElementsAre(Pair("sgx.intel.com/epc", "512Ki")));
  EXPECT_EQ(size.Ports(PortKind::kRoot), 1);
  EXPECT_EQ(size.Ports(PortKind::kSwitch), 2);
  EXPECT_EQ(ToJson(size),
            R"({"vcpus":3,"memory_bytes":1610612736,"hugepages_bytes":{"2Mi":4194304},)"
            R"("resources":{"sgx.intel.com/epc":"512Ki"},"plug":"hot","root_ports":1,)"
            R"("switch_ports":2,"vfio":[{"iommu_group":"42","devices":[)"
            R"({"address":"0000:3b:00.0","class":"030200","port":"root-port"}]},)"
            R"({"iommu_group":"7","devices":[)"
            R"({"address":"0000:5e:00.0","class":"020000","port":"switch-port"},)"
            R"({"address":"0000:5e:00.1","class":"020000","port":"switch-port"}]}]})");
  const std::string kata = "io.katacontainers.config.hypervisor.";
  EXPECT_THAT(AnnotationsFor(Vm(), size),
              ElementsAre(Pair(kata + "default_memory", "1540"), Pair(kata + "default_vcpus", "3"),
                          Pair(kata + "enable_hugepages", "true"),
                          Pair(kata + "hot_plug_vfio", "switch-port"),
                          Pair(kata + "pcie_root_port", "1"), Pair(kata + "pcie_switch_port", "2"),
                          Pair("io.kubernetes.cri.sandbox-cpu-period", "100000"),
                          Pair("io.kubernetes.cri.sandbox-cpu-quota", "100000"),
                          Pair("io.kubernetes.cri.sandbox-cpu-shares", "2560"),
                          Pair("io.kubernetes.cri.sandbox-memory", "1610612736"),
                          Pair("plimsoll.dev/sandbox-size", ToJson(size)),
                          Pair("sgx.intel.com/epc", "512Ki")));
}

TEST(PodSizeTest, BothFitIntoTheLarger) {
  PodSize one = {.cpu_request_milli = 500,
                 .cpu_limit_milli = 2000,
                 .vcpus = 2,
                 .memory_bytes = 1 << 20,
                 .hugepages = {{"2Mi", 4 << 20}},
                 .resources = {{"a", "512Ki"}, {"b", "1"}},
                 .plug = Plug::kHot,
                 .groups = Groups()};
  PodSize other = {.cpu_request_milli = 700,
                   .cpu_limit_milli = 1000,
                   .vcpus = std::nullopt,
                   .memory_bytes = 2 << 20,
                   .hugepages = {{"2Mi", 2 << 20}, {"1Gi", 1 << 30}},
                   .resources = {{"a", "1Mi"}, {"c", "2"}},
                   .plug = Plug::kHot,
                   .groups = {Groups()[1]}};
  const PodSize larger = {.cpu_request_milli = 700,
                          .cpu_limit_milli = 2000,
                          .vcpus = 2,
                          .memory_bytes = 2 << 20,
                          .hugepages = {{"2Mi", 4 << 20}, {"1Gi", 1 << 30}},
                          .resources = {{"a", "1Mi"}, {"b", "1"}, {"c", "2"}},
                          .plug = Plug::kHot,
                          .groups = Groups()};
  EXPECT_EQ(LargerOf(one, other), larger);
  EXPECT_EQ(LargerOf(other, one), larger);
  EXPECT_EQ(LargerOf(one, one), one);
  EXPECT_EQ(LargerOf(one, {}).memory_bytes, 1 << 20);
  std::swap(one.groups[0], one.groups[1]);
  EXPECT_EQ(LargerOf(one, larger).groups, one.groups);
}

TEST(PodSizeTest, WhatIsNotKnownIsNotTold) {
  const PodSize size = SizeFor(Vm(), {}, {});
  EXPECT_EQ(ToJson(size), "{}");
  EXPECT_THAT(AnnotationsFor(Vm(), size), ElementsAre(Pair("plimsoll.dev/sandbox-size", "{}")));
}

TEST(PodSizeTest, TheHandlerChoosesWhatItIsTold) {
  Handler handler = Vm();
  handler.plug = Plug::kCold;
  for (const auto& [what, unused] : DefaultAnnotations()) handler.annotations[what] = "";
  handler.annotations["default_vcpus"] = "krun.cpus";
  handler.annotations["cold_plug_vfio"] = "vm.plug";
  handler.resource_annotations = {{"example.com/gpu-memory", "vm.gpu"}};
  const Requirements total = {.requests = {{"cpu", Q("100m")},
                                           {"example.com/gpu-memory", Q("8G")},
                                           {"example.com/x", Q("1")}},
                              .limits = {}};
  EXPECT_THAT(
      AnnotationsFor(handler, SizeFor(handler, total, Groups())),
      ElementsAre(Pair("krun.cpus", "1"), Pair("vm.gpu", "8G"), Pair("vm.plug", "switch-port")));
  handler.plug = Plug::kNone;
  EXPECT_THAT(SizeFor(handler, total, Groups()).groups, IsEmpty());
}

TEST(PodSizeTest, GrowthIsWhatIsMoreThanAnnounced) {
  const Requirements announced = {.requests = {{"cpu", Q("1")}, {"memory", Q("1Gi")}},
                                  .limits = {{"cpu", Q("2")}}};
  EXPECT_THAT(GrowthOver(announced, announced), IsEmpty());
  EXPECT_THAT(GrowthOver(announced, {.requests = {{"cpu", Q("500m")}},
                                     .limits = {{"cpu", Q("2000m")}, {"memory", Q("1Gi")}}}),
              IsEmpty());
  EXPECT_THAT(GrowthOver(announced, {.requests = {{"cpu", Q("1100m")}, {"example.com/x", Q("1")}},
                                     .limits = {{"cpu", Q("3")}}}),
              ElementsAre("requests of cpu would be 1100m in all, announced were 1",
                          "requests of example.com/x would be 1 in all, announced were 0",
                          "limits of cpu would be 3 in all, announced were 2"));
}

TEST(PodSizeTest, ALimitThatIsGoneIsLifted) {
  const Requirements announced = {
      .requests = {},
      .limits = {{"cpu", Q("2")}, {"memory", Q("2Gi")}, {"hugepages-2Mi", Q("4Mi")}}};
  const Requirements had = {.requests = {},
                            .limits = {{"cpu", Q("1")},
                                       {"memory", Q("1Gi")},
                                       {"hugepages-2Mi", Q("0")},
                                       {"example.com/x", Q("1")}}};
  EXPECT_THAT(LiftedLimits(announced, had, had), IsEmpty());
  EXPECT_THAT(LiftedLimits(announced, {}, {}), IsEmpty()) << "it had none";
  EXPECT_THAT(LiftedLimits({}, had, {}), IsEmpty()) << "none was announced";
  EXPECT_THAT(
      LiftedLimits(announced, had,
                   {.requests = {}, .limits = {{"memory", Q("0")}, {"hugepages-2Mi", Q("0")}}}),
      ElementsAre("the limit of cpu, 1, would be gone, announced were 2 in all",
                  "the limit of memory, 1Gi, would be gone, announced were 2Gi in all"));
}

}  // namespace
}  // namespace plimsoll::runtime
