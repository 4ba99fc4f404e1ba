#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "cli/main_for_test.h"
#include "topology/machine/machine_files_for_test.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Four CPUs and 8 GiB in one node, of which pods have CPUs 1-3 and 6 GiB.
class KubeletConfigTest : public ::testing::Test {
 protected:
  KubeletConfigTest() {
    machine_.Cpus("0-3", "0-3");
    for (uint32_t cpu = 0; cpu < 4; ++cpu) {
      machine_.Add({.cpu = cpu,
                    .core = static_cast<int>(cpu),
                    .siblings = absl::StrCat(cpu),
                    .package_cpus = "0-3"});
    }
    machine_.AddNode({.id = 0, .cpus = "0-3", .memory_kib = 8 << 20, .distances = "10"});
    Put("topology.yaml", R"(zones:
- {name: numa-0, type: NUMANode, resources: [{name: memory, capacity: 6Gi}]}
- name: core-0
  type: Core
  parent: numa-0
  attributes: {cpu-ids: 1-3}
  resources: [{name: cpu, capacity: 3}]
)");
  }

  void Put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(dir_.root().ReplaceFile(name, text).ok());
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

  // Runs the command for this machine; no kubelet has run.
  Printed Run(std::vector<std::string> words) {
    std::vector<std::string> given = {"--address",    "/run/other.sock",     "kubelet-config",
                                      "--topology",   Path("topology.yaml"), "--machine",
                                      machine_.path()};
    if (std::find(words.begin(), words.end(), "--check") != words.end()) {
      given.insert(given.end(), {"--kubelet-root", Path("kubelet")});
    }
    words.insert(words.begin(), given.begin(), given.end());
    return RunMain(words);
  }

  topology::MachineFiles machine_;
  TestDir dir_;
};

TEST_F(KubeletConfigTest, PrintsADropIn) {
  const Printed printed = Run({});
  EXPECT_EQ(printed.code, kExitOk) << printed.err;
  EXPECT_THAT(
      printed.out,
      AllOf(HasSubstr("containerRuntimeEndpoint: \"unix:///run/other.sock\"\n"),
            HasSubstr("reservedSystemCPUs: \"0\"\n"),
            HasSubstr("systemReserved:\n  memory: \"1948Mi\"\n"), Not(HasSubstr("ManagerPolicy"))));
}

TEST_F(KubeletConfigTest, PrintsStaticPoliciesAndTheFormsForPrograms) {
  const std::vector<std::string> words = {"--cpu-manager-policy", "static",
                                          "--memory-manager-policy", "Static"};
  EXPECT_THAT(Run(words).out,
              AllOf(HasSubstr("strict-cpu-reservation: \"true\"\n"),
                    HasSubstr("reservedMemory:\n- numaNode: 0\n  limits:\n    memory: \"2Gi\"\n")));
  std::vector<std::string> json = words;
  json.insert(json.end(), {"-o", "json"});
  const auto document = nlohmann::json::parse(Run(json).out);
  EXPECT_EQ(document["reservedMemory"][0]["limits"]["memory"], "2Gi");
  json.back() = "yaml";
  EXPECT_THAT(Run(json).out, HasSubstr("memoryManagerPolicy: Static\n"));
}

TEST_F(KubeletConfigTest, CountsWhatThePresentConfigurationKeeps) {
  Put("kubelet.yaml",
      "kind: KubeletConfiguration\nevictionHard: {memory.available: 512Mi}\n"
      "kubeReserved: {memory: 256Mi}\n");
  const Printed printed = Run({"--beside", Path("kubelet.yaml")});
  EXPECT_THAT(printed.out, HasSubstr("memory: \"1280Mi\"\n")) << printed.err;
}

// "kubelet-config --config-dir conf.d > conf.d/50-plimsoll.conf": the shell has emptied the file.
TEST_F(KubeletConfigTest, MayPrintIntoTheDirectoryThatItReads) {
  ASSERT_TRUE(dir_.root().MakeDirs("conf.d").ok());
  Put("conf.d/10-eviction.conf",
      "kind: KubeletConfiguration\nevictionHard: {memory.available: 1Gi}\n");
  Put("conf.d/50-plimsoll.conf", "");
  const Printed printed = Run({"--config-dir", Path("conf.d")});
  EXPECT_EQ(printed.code, kExitOk) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("memory: \"1Gi\"\n"));
  // kubelet itself refuses an empty one.
  Put("kubelet.yaml", "kind: KubeletConfiguration\n");
  const Printed checked = Run({"--check", Path("kubelet.yaml"), "--config-dir", Path("conf.d")});
  EXPECT_EQ(checked.code, kExitUsage);
  EXPECT_THAT(checked.err, HasSubstr("50-plimsoll.conf"));
}

TEST_F(KubeletConfigTest, WhatItPrintsPassesItsCheck) {
  Put("kubelet.yaml", "kind: KubeletConfiguration\n");
  ASSERT_TRUE(dir_.root().MakeDirs("conf.d/deep").ok());
  Put("conf.d/deep/50-plimsoll.conf", Run({"--cpu-manager-policy", "static"}).out);
  Put("conf.d/README", "no YAML: [");
  const std::vector<std::string> check = {"--check", Path("kubelet.yaml"), "--config-dir",
                                          Path("conf.d")};
  const Printed good = Run(check);
  EXPECT_EQ(good.code, kExitOk) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("fit the pods' part"));

  // A later file takes it back.
  Put("conf.d/z.conf", "kind: KubeletConfiguration\nreservedSystemCPUs: \"1\"\n");
  const Printed bad = Run(check);
  EXPECT_EQ(bad.code, kExitError);
  EXPECT_THAT(bad.out, HasSubstr("conflict: " + Path("kubelet.yaml") + ": reservedSystemCPUs"));
  EXPECT_THAT(bad.out, Not(HasSubstr("fit the pods' part")));
}

TEST_F(KubeletConfigTest, ChecksTheRunningConfigurationAndItsState) {
  Put("kubelet.yaml", Run({"--cpu-manager-policy", "static"}).out);
  ASSERT_TRUE(dir_.root().MakeDirs("kubelet").ok());
  Put("kubelet/cpu_manager_state",
      R"({"policyName":"static","defaultCpuSet":"2-3","entries":{"3f2a":{"web":"1"}}})");
  Put("configz", R"({"kubeletconfig": {"cpuManagerPolicy": "none"}})");
  EXPECT_EQ(Run({"--check", Path("kubelet.yaml")}).code, kExitOk);
  const Printed bad =
      Run({"--check", Path("kubelet.yaml"), "--configz", Path("configz"), "-o", "json"});
  EXPECT_EQ(bad.code, kExitError);
  const auto found = nlohmann::json::parse(bad.out);
  ASSERT_EQ(found["conflicts"].size(), 3u) << bad.out;
  EXPECT_EQ(found["conflicts"][0]["file"], Path("configz"));
  EXPECT_EQ(found["conflicts"][0]["field"], "reservedSystemCPUs");
  EXPECT_EQ(found["conflicts"][1]["field"], "systemReserved");
  EXPECT_EQ(found["conflicts"][2]["file"], Path("kubelet/cpu_manager_state"));
  EXPECT_EQ(found["warnings"].size(), 1u) << bad.out;
}

TEST_F(KubeletConfigTest, FilesThatAreNoneAreErrors) {
  Put("kubelet.yaml", "kind: KubeletConfiguration\nsystemReserved: 5\n");
  const Printed bad = Run({"--check", Path("kubelet.yaml")});
  EXPECT_EQ(bad.code, kExitUsage) << "1 is a conflict";
  EXPECT_THAT(bad.err, HasSubstr("kubelet.yaml:2:17"));
  EXPECT_THAT(Run({"--check", Path("none")}).err, HasSubstr(Path("none")));
  EXPECT_THAT(Run({"--check", Path("kubelet.yaml"), "--config-dir", Path("none")}).code,
              kExitUsage);
  Put("kubelet.yaml", "kind: KubeletConfiguration\n");
  ASSERT_TRUE(dir_.root().MakeDirs("kubelet").ok());
  Put("kubelet/cpu_manager_state", "torn");
  const Printed torn = Run({"--check", Path("kubelet.yaml")});
  EXPECT_EQ(torn.code, kExitUsage);
  EXPECT_THAT(torn.err, HasSubstr("cpu_manager_state"));
  EXPECT_THAT(torn.out, AllOf(HasSubstr("conflict: " + Path("kubelet.yaml")),
                              Not(HasSubstr("fit the pods' part"))));
}

TEST_F(KubeletConfigTest, OptionsThatContradict) {
  EXPECT_EQ(Run({"--configz", Path("configz")}).code, kExitUsage);
  EXPECT_EQ(Run({"--kubelet-root", Path("kubelet")}).code, kExitUsage);
  EXPECT_EQ(Run({"--check", Path("a"), "--beside", Path("a")}).code, kExitUsage);
  EXPECT_EQ(Run({"--cpu-manager-policy", "some"}).code, kExitUsage);
}

TEST_F(KubeletConfigTest, WithoutADaemonATopologyIsNeeded) {
  const Printed printed = RunMain({"--address", Path("none"), "kubelet-config"});
  EXPECT_EQ(printed.code, kExitError);
  EXPECT_THAT(printed.err, AllOf(HasSubstr("no daemon at"), Not(HasSubstr("leave --address out"))));
}

}  // namespace
}  // namespace plimsoll::cli
