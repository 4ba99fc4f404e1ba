#include "agent/managers/allocation_report.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

resources::CpuSet Cpus(const char* list) {
  return *resources::CpuSet::Parse(list);
}

// Two nodes of two cores with two threads each.
topology::MachineMaps TwoNodes() {
  topology::MachineMaps maps;
  for (uint32_t cpu = 0; cpu < 8; ++cpu) {
    maps.cpus[cpu] = {
        .core = cpu / 2 * 2, .package = cpu / 4, .numa_node = cpu / 4, .cache_group = cpu / 4 * 4};
  }
  maps.nodes[0] = {
      .zone = "numa-0", .cpus = Cpus("0-3"), .memory_bytes = 8000, .hugepages = {{2 << 20, 4}}};
  maps.nodes[1] = {.zone = "numa-1", .cpus = Cpus("4-7"), .memory_bytes = 9000, .hugepages = {}};
  return maps;
}

ReportedPod PodWith(const std::string& name, const PodGrant& grant) {
  return {.pod_namespace = "default",
          .name = name,
          .uid = name + "-uid",
          .containers = {{.container = "a"}, {.container = "b"}},
          .grant = grant};
}

class AllocationReportTest : public ::testing::Test {
 protected:
  AllocationReportTest() {
    sources_.maps = &maps_;
    sources_.options.static_cpus = true;
    sources_.options.static_memory = true;
    sources_.options.topology = {.policy = TopologyPolicy::kRestricted,
                                 .scope = TopologyScope::kPod};
    sources_.reserved = Cpus("0");
    sources_.allocatable = {{0, {{"memory", 7000}}}, {1, {{"memory", 8500}}}};
  }
  Json Report() const { return ReportAllocations(sources_, stock_, pods_); }

  const topology::MachineMaps maps_ = TwoNodes();
  AllocationSources sources_;
  DeviceStock stock_;
  std::vector<ReportedPod> pods_;
};

TEST_F(AllocationReportTest, CpusAreReservedExclusiveSharedOrFree) {
  PodGrant grant;
  grant.containers["a"] = {.cpus = Cpus("2-3"), .cpu_count = 2, .memory = {}};
  pods_ = {PodWith("web", grant)};
  EXPECT_EQ(Report()["cpus"], Json::parse(R"({"all": "0-7", "reserved": "0", "exclusive": "2-3",
      "shared": "0-1,4-7", "free": "1,4-7"})"));
  EXPECT_EQ(Report()["pods"][0], Json::parse(R"({"namespace": "default", "name": "web",
      "uid": "web-uid", "cpus": "2-3", "containers": [
        {"name": "a", "exclusive": true, "cpus": "2-3", "cpuCount": 2},
        {"name": "b", "exclusive": false, "cpus": "0-1,4-7"}]})"));
  sources_.options.cpu_options.strict_cpu_reservation = true;
  EXPECT_EQ(Report()["cpus"]["shared"], "1,4-7");
  grant.containers["a"].cpus = Cpus("1-7");
  pods_ = {PodWith("web", grant)};
  EXPECT_EQ(Report()["cpus"]["shared"], "0");
}

TEST_F(AllocationReportTest, WithPolicyNoneAllShareAll) {
  sources_.options = {};
  pods_ = {PodWith("web", {})};
  const Json report = Report();
  EXPECT_EQ(report["cpuManagerPolicy"], "none");
  EXPECT_EQ(report["memoryManagerPolicy"], "None");
  EXPECT_EQ(report["cpus"], Json::parse(R"({"all": "0-7", "exclusive": "", "shared": "0-7"})"));
  EXPECT_EQ(report["memory"][1]["resources"], Json::parse(R"({"memory": {"capacity": 9000}})"));
  EXPECT_EQ(report["pods"][0]["containers"][1]["cpus"], "0-7");
}

TEST_F(AllocationReportTest, PlacesOfCpusArePartOfIt) {
  EXPECT_EQ(Report()["cpuPlaces"].size(), 8u);
  EXPECT_EQ(Report()["cpuPlaces"][5],
            Json::parse(R"({"cpu": 5, "core": 4, "numaNode": 1, "package": 1})"));
  EXPECT_EQ(Report()["topologyManagerPolicy"], "restricted");
  EXPECT_EQ(Report()["topologyManagerScope"], "pod");
}

TEST_F(AllocationReportTest, MemoryIsUsedByNode) {
  PodGrant grant;
  const NodeMask both = NodeMask::FromBits(3);
  grant.containers["a"].memory = {
      {.resource = "memory", .nodes = both, .bytes = 5000, .shares = {{0, 2000}, {1, 3000}}}};
  grant.containers["b"].memory = {
      {.resource = "memory", .nodes = NodeMask::Of(1), .bytes = 100, .shares = {{1, 100}}}};
  pods_ = {PodWith("web", grant)};
  EXPECT_EQ(Report()["memory"], Json::parse(R"([
      {"numaNode": 0, "cpus": "0-3", "resources": {
        "hugepages-2Mi": {"capacity": 8388608, "allocatable": 0, "used": 0},
        "memory": {"capacity": 8000, "allocatable": 7000, "used": 2000}}},
      {"numaNode": 1, "cpus": "4-7", "resources": {
        "memory": {"capacity": 9000, "allocatable": 8500, "used": 3100}}}])"));
  const Json first = Report()["pods"][0]["containers"][0];
  EXPECT_EQ(first["memoryNodes"], "0-1");
  EXPECT_EQ(first["memory"],
            Json::parse(R"([{"resource": "memory", "numaNodes": "0-1", "bytes": 5000}])"));
}

// Containers' amounts are part of a pod's own.
TEST_F(AllocationReportTest, APodsOwnMemoryAndCpusCountOnce) {
  PodGrant grant;
  const MemoryBlock block = {
      .resource = "memory", .nodes = NodeMask::Of(0), .bytes = 4000, .shares = {{0, 4000}}};
  grant.pod = {.cpus = Cpus("1-3"), .cpu_count = 3, .memory = {block}};
  grant.containers["a"] = {.cpus = Cpus("2"), .cpu_count = 1, .memory = {block}};
  pods_ = {PodWith("web", grant)};
  EXPECT_EQ(Report()["memory"][0]["resources"]["memory"]["used"], 4000);
  const Json pod = Report()["pods"][0];
  EXPECT_EQ(pod["cpus"], "1-3");
  EXPECT_EQ(pod["cpuCount"], 3);
  EXPECT_EQ(pod["memoryNodes"], "0");
  EXPECT_EQ(pod["containers"][1]["cpus"], "1,3") << "what its sibling leaves of the pod's";
  EXPECT_EQ(pod["containers"][1]["memoryNodes"], "0") << "the pod's";
  EXPECT_FALSE(pod["containers"][1].contains("memory"));
  grant.containers["a"].cpus = Cpus("1-3");
  pods_ = {PodWith("web", grant)};
  EXPECT_EQ(Report()["pods"][0]["containers"][1]["cpus"], "1-3");
}

// The same as CreateContainer's (agent/pods/allocation/places.h).
TEST_F(AllocationReportTest, ContainersOfAPodWithItsOwnShareWhatTheirSiblingsLeave) {
  using Role = resources::ContainerRequirements::Role;
  PodGrant grant;
  grant.pod = {.cpus = Cpus("1-6"), .cpu_count = 6, .memory = {}};
  grant.containers["own"] = {.cpus = Cpus("1"), .cpu_count = 1, .memory = {}};
  grant.containers["side"] = {.cpus = Cpus("2"), .cpu_count = 1, .memory = {}};
  grant.containers["app"] = {.cpus = Cpus("3-4"), .cpu_count = 2, .memory = {}};
  ReportedPod pod = PodWith("web", grant);
  pod.containers = {{"own", Role::kInit},    {"first", Role::kInit},    {"side", Role::kSidecar},
                    {"second", Role::kInit}, {"app", Role::kContainer}, {"rest", Role::kContainer}};
  pods_ = {pod};
  std::map<std::string, std::string> cpus;
  const Json report = Report();
  for (const Json& each : report["pods"][0]["containers"]) cpus[each["name"]] = each["cpus"];
  EXPECT_EQ(cpus["own"], "1");
  EXPECT_EQ(cpus["first"], "1-6") << "alone";
  EXPECT_EQ(cpus["second"], "1,3-6") << "beside the sidecar";
  EXPECT_EQ(cpus["rest"], "1,5-6") << "the init containers have ended";
}

TEST_F(AllocationReportTest, DevicesHaveTheirHolders) {
  stock_["example.com/gpu"].devices = {{.id = "gpu-0", .healthy = true, .nodes = NodeMask::Of(1)},
                                       {.id = "gpu-1", .healthy = false, .nodes = std::nullopt}};
  stock_["example.com/nic"] = {.devices = {{.id = "nic-0"}}, .is_served = false};
  PodGrant grant;
  grant.devices["a"] = {{"example.com/gpu", {"gpu-0"}}};
  grant.devices["b"] = {{"example.com/gpu", {"gpu-0"}}, {"example.com/old", {"old-0"}}};
  pods_ = {PodWith("web", grant)};
  EXPECT_EQ(Report()["devices"], Json::parse(R"({
      "example.com/gpu": [
        {"id": "gpu-0", "healthy": true, "numaNodes": "1",
         "holder": {"namespace": "default", "name": "web", "containers": ["a", "b"]}},
        {"id": "gpu-1", "healthy": false}],
      "example.com/nic": [{"id": "nic-0", "healthy": false}],
      "example.com/old": [{"id": "old-0", "healthy": false, "present": false,
         "holder": {"namespace": "default", "name": "web", "containers": ["b"]}}]})"));
  EXPECT_EQ(Report()["pods"][0]["containers"][0]["devices"],
            Json::parse(R"({"example.com/gpu": ["gpu-0"]})"));
}

TEST_F(AllocationReportTest, WithoutATopologyThePodsAreStillTold) {
  sources_.maps = nullptr;
  PodGrant grant;
  grant.containers["a"] = {.cpus = Cpus("2"), .cpu_count = 1, .memory = {}};
  pods_ = {PodWith("web", grant)};
  EXPECT_FALSE(Report().contains("cpus"));
  EXPECT_FALSE(Report().contains("memory"));
  EXPECT_EQ(Report()["pods"][0]["containers"][0]["cpus"], "2");
  EXPECT_EQ(Report()["pods"][0]["containers"][1]["cpus"], "");
}

}  // namespace
}  // namespace plimsoll::agent
