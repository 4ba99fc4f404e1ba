// plimsolld as a systemd unit, with the systemd cgroup driver: pods in slices and what becomes of
// them.
#ifndef PLIMSOLL_TESTS_VM_SYSTEMD_FIXTURE_H_
#define PLIMSOLL_TESTS_VM_SYSTEMD_FIXTURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "unit_fixture.h"

namespace plimsoll::testing {

inline constexpr int64_t kMemoryLimit = 64 << 20;
// Not a whole percentage of a CPU, which is all that systemd's files can hold.
inline constexpr int64_t kOddQuota = 12345;
// After each of these systemd writes all values that it knows again.
inline const std::vector<std::vector<std::string>>& Reloads() {
  static const auto& reloads = *new std::vector<std::vector<std::string>>{
      {"systemctl", "daemon-reload"}, {"systemctl", "daemon-reexec"}};
  return reloads;
}

class SystemdTest : public UnitTest {
 protected:
  // Makes a pod's slice as kubelet does: accounted for, so that systemd gives it controllers.
  // Returns its directory.
  static std::string StartSlice(const std::string& name) {
    EXPECT_TRUE(Host()
                    .ReplaceFile(absl::StrCat("run/systemd/system/", name),
                                 "[Slice]\nCPUAccounting=yes\nMemoryAccounting=yes\n"
                                 "TasksAccounting=yes\n")
                    .ok());
    Run({"systemctl", "daemon-reload"});
    Run({"systemctl", "start", name});
    return absl::StrCat("/sys/fs/cgroup/kubepods.slice/", name);
  }

  std::string RunPodIn(const std::string& slice) {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_linux()->set_cgroup_parent(slice);
    return RunPod(config);
  }

  std::string StartLimited(const std::string& pod) {
    cri::ContainerConfig config = Shell("n=0; while :; do echo $n; n=$((n+1)); sleep 0.05; done");
    cri::LinuxContainerResources* resources = config.mutable_linux()->mutable_resources();
    resources->set_memory_limit_in_bytes(kMemoryLimit);
    resources->set_cpu_quota(50000);
    resources->set_cpu_period(100000);
    return Start(pod, config);
  }

  void ExpectLimited(const std::string& directory) {
    EXPECT_EQ(Host().Read(directory + "/memory.max").value_or("no such file"),
              absl::StrCat(kMemoryLimit, "\n"));
    EXPECT_EQ(Host().Read(directory + "/cpu.max").value_or("no such file"), "50000 100000\n");
  }

  // Checks now, and after each command that makes systemd write everything again.
  static void ExpectKept(const std::string& directory,
                         const std::map<std::string, std::string>& values) {
    const auto expect = [&] {
      for (const auto& each : values) {
        EXPECT_TRUE(Eventually([&] { return ReadFile(directory, each.first) == each.second; }))
            << each.first << " is " << ReadFile(directory, each.first) << " and not "
            << each.second;
      }
    };
    expect();
    for (const std::vector<std::string>& reload : Reloads()) {
      SCOPED_TRACE(reload[1]);
      Run(reload);
      expect();
      // systemd writes when idle, which it is after a job.
      Run({"systemctl", "start", "plimsolld"});
      expect();
    }
  }

  // Names of slices and scopes with `part` in them, running or not.
  static std::string UnitsWith(const std::string& part) {
    return Run({"systemctl", "list-units", "--all", "--type=slice,scope", "--plain", "--no-legend",
                "--no-pager", absl::StrCat("*", part, "*")});
  }
  static void ExpectNoUnits(const std::string& part) {
    EXPECT_TRUE(Eventually([&] { return UnitsWith(part).empty(); })) << UnitsWith(part);
  }

  // A container with every kind of resource that a client can ask for.
  std::string StartFull(const std::string& pod) {
    cri::ContainerConfig config = Shell("sleep 100000");
    cri::LinuxContainerResources* resources = config.mutable_linux()->mutable_resources();
    resources->set_memory_limit_in_bytes(kMemoryLimit);
    resources->set_cpu_quota(kOddQuota);
    resources->set_cpu_period(100000);
    resources->set_cpu_shares(512);
    resources->set_cpuset_cpus("1-2");
    resources->set_cpuset_mems("0");
    (*resources->mutable_unified())["memory.low"] = "1048576";
    (*resources->mutable_unified())["pids.max"] = "77";
    (*resources->mutable_unified())["memory.oom.group"] = "1";
    return Start(pod, config);
  }
  static std::map<std::string, std::string> Full() {
    return {{"memory.max", absl::StrCat(kMemoryLimit)},
            {"cpu.max", absl::StrCat(kOddQuota, " 100000")},
            {"cpu.weight", "20"},
            {"cpuset.cpus", "1-2"},
            {"cpuset.mems", "0"},
            {"memory.low", "1048576"},
            {"pids.max", "77"},
            {"memory.oom.group", "1"}};
  }

  // The directory of its processes.
  static std::string DirectoryOf(const std::string& group) {
    return absl::StrCat("/sys/fs/cgroup", group);
  }
  std::string OwnSlice(const std::string& pod) {
    return absl::StrCat("/plimsoll.slice/plimsoll-", pod, ".slice");
  }

  // Start time of the container's first process in ticks, which identifies it.
  std::string InitOf(const std::string& container) {
    return ExecOutput(container, "cut -d' ' -f22 /proc/1/stat");
  }
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_VM_SYSTEMD_FIXTURE_H_
