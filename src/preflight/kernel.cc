#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "preflight/report.h"
#include "systemd/units.h"

namespace plimsoll::preflight {
namespace {

struct Sysctl {
  const char* name;   // "kernel.panic"
  const char* value;  // kubelet's
};
// kubelet sets these itself, unless protectKernelDefaults is on (its pkg/util/sysctl).
constexpr Sysctl kKernelDefaults[] = {
    {"vm.overcommit_memory", "1"},
    {"vm.panic_on_oom", "0"},
    {"kernel.panic", "10"},
    {"kernel.panic_on_oops", "1"},
    {"kernel.keys.root_maxkeys", "1000000"},
    {"kernel.keys.root_maxbytes", "25000000"},
};
// Units of the distributions' time services.
constexpr const char* kTimeServices[] = {
    "systemd-timesyncd", "chrony", "chronyd", "ntpsec", "ntp", "ntpd"};
constexpr char kSysctlFile[] = "/etc/sysctl.d/kubernetes.conf";

std::string SysctlPath(absl::string_view name) {
  return absl::StrCat("proc/sys/", absl::StrJoin(absl::StrSplit(name, '.'), "/"));
}

// systemd reads the file at each boot. Debian's package procps has sysctl, and may be missing.
std::string SysctlRemedy(const Input& input, absl::string_view name, absl::string_view value) {
  const std::string keep = absl::StrCat("echo '", name, "=", value, "' >>", kSysctlFile, " && ");
  if (input.machine.find_program("sysctl").ok()) return absl::StrCat(keep, "sysctl --system");
  if (systemd::SystemdRuns(input.host)) {
    return absl::StrCat(keep, "systemctl restart systemd-sysctl");
  }
  return absl::StrCat("echo ", value, " >/", SysctlPath(name), ", and the same at each boot");
}

// The devices and files of swap that is on.
std::vector<std::string> SwapAreas(const FsRoot& host) {
  std::vector<std::string> areas;
  const std::vector<std::string> lines =
      absl::StrSplit(Content(host, "proc/swaps"), '\n', absl::SkipEmpty());
  for (size_t i = 1; i < lines.size(); ++i) {
    areas.push_back(lines[i].substr(0, lines[i].find_first_of(" \t")));
  }
  return areas;
}

// Remedy for the state of the machine's time service.
std::string ClockRemedy(const Input& input) {
  std::string installed;
  if (systemd::SystemdRuns(input.host)) {
    for (const char* name : kTimeServices) {
      auto properties = input.machine.unit(absl::StrCat(name, ".service"));
      if (!properties.ok()) break;  // systemd doesn't answer
      if ((*properties)["LoadState"] != "loaded") continue;
      if ((*properties)["ActiveState"] == "active") {
        return absl::StrCat(
            name, " runs: wait, or see why it reaches no time server: journalctl -u ", name);
      }
      if (installed.empty()) installed = name;
    }
  }
  if (!installed.empty()) return absl::StrCat("systemctl enable --now ", installed);
  return HowToInstall(input.host, "chronyd");
}

}  // namespace

void CheckSwap(const Subject& subject, Report report) {
  const std::vector<std::string> areas = SwapAreas(subject.input.host);
  if (areas.empty() || !subject.kubelet.configuration.fail_swap_on) return;
  report.Error(absl::StrCat("swap is on (", absl::StrJoin(areas, ", "), "): kubelet doesn't start"),
               "swapoff -a, and take swap out of /etc/fstab; or failSwapOn: false in kubelet's "
               "configuration");
}

void CheckModules(const Subject& subject, Report report) {
  const FsRoot& host = subject.input.host;
  if (!subject.input.machine.has_overlayfs()) {
    report.Error("the kernel has no overlay file system: no container starts",
                 absl::StrCat("modprobe overlay; if that fails, install the modules of kernel ",
                              subject.input.machine.kernel_release));
  }
  if (!host.Exists("proc/sys/net/bridge")) {
    report.Warning(
        "the module br_netfilter isn't loaded: with kube-proxy and a network of bridges, pods "
        "reach "
        "no Service whose pod is on their own node",
        "modprobe br_netfilter && echo br_netfilter >/etc/modules-load.d/kubernetes.conf");
  } else if (Content(host, "proc/sys/net/bridge/bridge-nf-call-iptables") == "0") {
    report.Warning(
        "net.bridge.bridge-nf-call-iptables is 0: with kube-proxy and a network of bridges, pods "
        "reach no Service whose pod is on their own node",
        SysctlRemedy(subject.input, "net.bridge.bridge-nf-call-iptables", "1"));
  }
}

void CheckSysctls(const Subject& subject, Report report) {
  const FsRoot& host = subject.input.host;
  if (Content(host, "proc/sys/net/ipv4/ip_forward") == "0") {
    report.Error("net.ipv4.ip_forward is 0: pods reach nothing outside of their node",
                 SysctlRemedy(subject.input, "net.ipv4.ip_forward", "1"));
  }
  if (!subject.kubelet.configuration.protect_kernel_defaults) return;
  for (const Sysctl& sysctl : kKernelDefaults) {
    const std::string value = Content(host, SysctlPath(sysctl.name));
    if (value.empty() || value == sysctl.value) continue;
    report.Error(absl::StrCat(sysctl.name, " is ", value,
                              ": kubelet has protectKernelDefaults and doesn't start"),
                 SysctlRemedy(subject.input, sysctl.name, sysctl.value));
  }
}

void CheckCgroups(const Subject& subject, Report report) {
  if (subject.input.layout != linux::CgroupLayout::kV2 &&
      subject.kubelet.configuration.fail_cgroup_v1.value_or(true)) {
    report.Warning(
        "the machine has cgroup v1: kubelet from 1.35 on doesn't start on it",
        "boot with systemd.unified_cgroup_hierarchy=1; or failCgroupV1: false in kubelet's "
        "configuration");
  }
  std::vector<std::string> missing;
  for (const char* controller : {"cpu", "cpuset", "memory", "pids"}) {
    if (!absl::c_linear_search(subject.input.controllers, controller)) {
      missing.emplace_back(controller);
    }
  }
  if (missing.empty()) return;
  report.Error(absl::StrCat("the machine lacks the cgroup controllers ",
                            absl::StrJoin(missing, ", "), ", which kubelet needs"),
               absl::c_linear_search(missing, "memory")
                   ? "boot with cgroup_enable=memory, and without cgroup_disable=memory"
                   : "boot a kernel with these controllers; /proc/cgroups lists its own");
}

void CheckClock(const Subject& subject, Report report) {
  if (subject.input.machine.clock_is_synchronised.value_or(true)) return;
  report.Warning(
      "the clock isn't synchronised: a clock that is wrong makes certificates invalid, and kubelet "
      "can't register the node",
      ClockRemedy(subject.input));
}

}  // namespace plimsoll::preflight
