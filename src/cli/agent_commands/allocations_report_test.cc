#include "cli/agent_commands/allocations_report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

KubeObject Example() {
  return KubeObject::parse(R"({"kind": "Allocations", "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static", "topologyManagerPolicy": "restricted",
    "topologyManagerScope": "pod",
    "cpus": {"all": "0-3", "reserved": "0", "exclusive": "2", "shared": "0-1,3", "free": "1,3"},
    "cpuPlaces": [{"cpu": 0, "core": 0, "numaNode": 0, "package": 0},
                  {"cpu": 1, "core": 0, "numaNode": 0, "package": 0},
                  {"cpu": 2, "core": 2, "numaNode": 1, "package": 0},
                  {"cpu": 3, "core": 2, "numaNode": 1, "package": 0}],
    "memory": [{"numaNode": 0, "cpus": "0-1", "resources": {
        "hugepages-2Mi": {"capacity": 0, "allocatable": 0, "used": 0},
        "memory": {"capacity": 1073741824, "allocatable": 536870912, "used": 0}}}],
    "devices": {"example.com/gpu": [
        {"id": "gpu-0", "healthy": true, "numaNodes": "1",
         "holder": {"namespace": "default", "name": "web", "containers": ["init", "nginx"]}},
        {"id": "gpu-1", "healthy": false},
        {"id": "gpu-2", "healthy": false, "present": false,
         "holder": {"namespace": "default", "name": "web", "containers": ["nginx"]}}]},
    "pods": [{"namespace": "default", "name": "web", "uid": "u", "cpus": "2", "containers": [
        {"name": "nginx", "exclusive": true, "cpus": "2", "cpuCount": 2, "memoryNodes": "0-1",
         "devices": {"example.com/gpu": ["gpu-0"]}},
        {"name": "log", "exclusive": false, "cpus": "0-1,3"}]}]})");
}

TEST(AllocationsText, HasPoliciesDrawingAndTables) {
  EXPECT_EQ(AllocationsText(Example(), {}),
            "CPU manager static, memory manager Static, topology manager restricted (pod)\n"
            "\n"
            "package 0  NUMA node 0  [0# 1.]\n"
            "package 0  NUMA node 1  [2A 3.]\n"
            "A  default/web nginx  2\n"
            ".  shared  0-1,3\n"
            "#  reserved  0\n"
            "\n"
            "NUMA NODE  RESOURCE  CAPACITY  ALLOCATABLE  USED\n"
            "0          memory    1 GiB     512 MiB      0 B\n"
            "\n"
            "RESOURCE         DEVICE  HEALTH     NUMA NODES  HOLDER\n"
            "example.com/gpu  gpu-0   healthy    1           default/web init,nginx\n"
            "example.com/gpu  gpu-1   unhealthy  -           -\n"
            "example.com/gpu  gpu-2   gone       -           default/web nginx\n"
            "\n"
            "NAMESPACE  POD  CONTAINER  CPUS        MEMORY NODES  DEVICES\n"
            "default    web  nginx      2 (1 of 2)  0-1           example.com/gpu=gpu-0\n"
            "default    web  log        shared      -             -\n");
}

TEST(AllocationsText, TheDrawingCanBeLeftOut) {
  const std::string text = AllocationsText(Example(), {.drawing = false});
  EXPECT_THAT(text, Not(HasSubstr("package")));
  EXPECT_THAT(text, HasSubstr("NUMA NODE"));
}

TEST(AllocationsText, APodsOwnCpusAreThoseThatItsContainersLeave) {
  KubeObject all = Example();
  KubeObject& pod = all["pods"][0];
  pod["cpus"] = "2-3";
  pod["cpuCount"] = 2;
  EXPECT_THAT(AllocationsText(all, {}), HasSubstr("A  default/web  3\nB  default/web nginx  2\n"));
  EXPECT_THAT(AllocationsText(all, {}), HasSubstr("default    web  (pod)      2-3"));
  pod["containers"][1]["cpus"] = "3";
  EXPECT_THAT(AllocationsText(all, {}), HasSubstr("default    web  log        3 (pod's)"));
}

TEST(AllocationsText, ANodeWithoutATopologySaysSo) {
  EXPECT_THAT(AllocationsText(KubeObject::parse(R"({"kind": "Allocations", "pods": []})"), {}),
              HasSubstr("The node has no topology yet.\n"));
}

// Answers of an agent of another version.
TEST(AllocationsText, OddAnswersAreSurvived) {
  for (const char* odd :
       {"null", "[]", "3", R"({"pods": 3, "devices": [1], "memory": {"a": 1}, "cpuPlaces": [1]})",
        R"({"pods": [1, {"containers": [2, {"devices": {"r": 1, "s": [1]}}]}],
            "devices": {"r": 1, "s": [1, {"holder": {"containers": 1}}]},
            "memory": [{"resources": [1]}, {"resources": {"memory": 3}}],
            "cpuPlaces": [{"cpu": -1}]})"}) {
    EXPECT_THAT(AllocationsText(KubeObject::parse(odd), {}), HasSubstr("CPU manager")) << odd;
  }
}

TEST(AllocationsText, NamesChangeNoTerminal) {
  KubeObject all = Example();
  all["cpuManagerPolicy"] = "\x1b[2J";
  all["pods"][0]["name"] = "\x1b[2J";
  EXPECT_THAT(AllocationsText(all, {}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace plimsoll::cli
