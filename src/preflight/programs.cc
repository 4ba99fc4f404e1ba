#include <string>

#include "absl/strings/str_cat.h"
#include "linux/apparmor.h"
#include "preflight/report.h"
#include "systemd/units.h"

namespace plimsoll::preflight {
namespace {

constexpr char kUnit[] = "plimsolld.service";
constexpr char kAppArmorParser[] = "apparmor_parser";

// Unit settings that pods rely on.
struct UnitNeed {
  const char* property;
  const char* value;
  const char* why;
};
constexpr UnitNeed kUnitNeeds[] = {
    {"KillMode", "process", "a stop or restart of plimsolld ends containers' monitors"},
    {"Delegate", "yes", "systemd may take control groups away from pods"},
    {"RuntimeDirectory", "", "systemd removes the namespaces of pods when plimsolld stops"},
};

struct Tool {
  const char* name;
  bool is_needed;
  const char* why;
};
constexpr Tool kTools[] = {
    {"skopeo", true, "no image can be pulled"},
    {"mount", true, "kubelet mounts no volumes"},
    {"losetup", true, "kubeadm from 1.33 on refuses the node"},
    {"iptables", false,
     "network plugins such as bridge and portmap can't make their rules, and kubeadm before 1.33 "
     "refuses the node"},
    {"ip", false, "kubeadm before 1.33 refuses the node"},
    {"nsenter", false, "kubeadm before 1.33 refuses the node"},
    {"conntrack", false, "kubeadm before 1.32 refuses the node"},
};

// plimsolld loads its own profile by apparmor_parser where nobody has loaded it.
void CheckAppArmorParser(const Input& input, Report& report) {
  if (!linux::HasAppArmor(input.host) || input.machine.find_program(kAppArmorParser).ok()) return;
  if (linux::IsProfileLoaded(input.host, "plimsoll-default").value_or(false)) return;
  report.Warning(absl::StrCat("there is no program ", kAppArmorParser,
                              ": no container with AppArmor's profile RuntimeDefault starts"),
                 HowToInstall(input.host, kAppArmorParser));
}

}  // namespace

void CheckPackage(const Subject& subject, Report report) {
  const absl::Status& package = subject.input.package;
  if (!package.ok()) {
    report.Error(package.message(), HowToInstallAgain(subject.input.host));
  }
  const absl::Status& hwloc = subject.input.hwloc_program;
  if (!hwloc.ok()) {
    report.Warning(absl::StrCat(hwloc.message(),
                                ": plimsoll topology and kubelet-config read no captured machine"),
                   HowToInstallAgain(subject.input.host));
  }
  const absl::Status& oci_runtime = subject.input.oci_runtime;
  if (!oci_runtime.ok()) {
    report.Error(oci_runtime.message(),
                 absl::StrCat(HowToInstall(subject.input.host, "crun"),
                              ", or name an OCI runtime as crun in plimsolld.yaml"));
  }
}

void CheckTools(const Subject& subject, Report report) {
  for (const Tool& tool : kTools) {
    if (subject.input.machine.find_program(tool.name).ok()) continue;
    const std::string what = absl::StrCat("there is no program ", tool.name, ": ", tool.why);
    const std::string remedy = HowToInstall(subject.input.host, tool.name);
    if (tool.is_needed) {
      report.Error(what, remedy);
    } else {
      report.Warning(what, remedy);
    }
  }
  CheckAppArmorParser(subject.input, report);
}

void CheckInit(const Subject& subject, Report report) {
  const std::string init = Content(subject.input.host, "proc/1/comm");
  if (init.empty() || systemd::SystemdRuns(subject.input.host)) return;
  report.Warning(
      absl::StrCat("process 1 is ", init,
                   init == "systemd" ? ", and its /run/systemd/system is missing" : ", not systemd",
                   ": nothing starts plimsolld and kubelet, or starts them again"),
      "have a supervisor of your own start them; plimsolld needs none");
}

// A unit of an older version, or one changed by hand, may end pods with the daemon.
void CheckUnit(const Subject& subject, Report report) {
  if (!systemd::SystemdRuns(subject.input.host)) return;
  const auto properties = subject.input.machine.unit(kUnit);
  if (!properties.ok()) return;  // systemd doesn't answer: nothing is known
  const auto value = [&properties](const char* name) {
    const auto found = properties->find(name);
    return found == properties->end() ? std::string() : found->second;
  };
  if (value("LoadState") == "not-found") {
    return report.Warning(absl::StrCat("systemd has no unit ", kUnit, ": nothing starts plimsolld"),
                          "install the package plimsoll, or start plimsolld otherwise");
  }
  if (value("UnitFileState") == "disabled") {
    report.Warning(absl::StrCat(kUnit, " isn't enabled: nothing starts plimsolld after a reboot"),
                   "systemctl enable --now plimsolld");
  }
  if (value("NeedDaemonReload") == "yes") {
    report.Warning(absl::StrCat("systemd runs an older version of ", kUnit, " than is on the disk"),
                   "systemctl daemon-reload");
  }
  const std::string remedy =
      absl::StrCat("systemctl cat ", kUnit,
                   " shows the files; remove those below /etc/systemd, or "
                   "install the package plimsoll again, then systemctl daemon-reload");
  for (const UnitNeed& need : kUnitNeeds) {
    if (value(need.property) == need.value) continue;
    report.Error(
        absl::StrCat(kUnit, " is of another version: ", need.property, " is \"",
                     value(need.property), "\" instead of \"", need.value, "\", so ", need.why),
        remedy);
  }
}

}  // namespace plimsoll::preflight
