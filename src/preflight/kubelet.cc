#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "preflight/report.h"
#include "systemd/units.h"

namespace plimsoll::preflight {
namespace {

constexpr char kKubeletUnit[] = "kubelet.service";
constexpr char kEndpointFlag[] = "--container-runtime-endpoint=";

// The sockets that kubeadm looks for.
constexpr const char* kOtherSockets[] = {"run/containerd/containerd.sock", "run/crio/crio.sock",
                                         "run/cri-dockerd.sock"};

// kubeadm's KUBELET_KUBEADM_ARGS="--flag=value ...".
std::string EndpointInFlags(absl::string_view text) {
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \t\n\"'"))) {
    if (absl::ConsumePrefix(&word, kEndpointFlag)) return std::string(word);
  }
  return "";
}

// `kubeadm join` starts kubelet once, whether its unit is enabled or not.
void CheckEnabled(const Subject& subject, Report& report) {
  if (!systemd::SystemdRuns(subject.input.host)) return;
  const auto properties = subject.input.machine.unit(kKubeletUnit);
  if (!properties.ok()) return;
  const auto state = properties->find("UnitFileState");
  if (state == properties->end() || state->second != "disabled") return;
  report.Warning(
      absl::StrCat(kKubeletUnit, " isn't enabled: the node doesn't come back after a reboot"),
      "systemctl enable kubelet");
}

}  // namespace

KubeletFiles ReadKubeletFiles(const FsRoot& host, const std::string& root) {
  KubeletFiles files;
  files.is_there = host.Exists(root);
  const std::string path = absl::StrCat(root, "/config.yaml");
  const absl::StatusOr<std::string> text = host.Read(path);
  if (text.ok()) {
    kubelet::Configuration configuration;
    const absl::Status read = kubelet::Overlay(*text, path, &configuration);
    files.file = path;
    if (read.ok()) {
      files.configuration = configuration;
    } else {
      files.fault = std::string(read.message());
    }
  } else if (!absl::IsNotFound(text.status())) {
    files.fault = std::string(text.status().message());
  }
  if (files.configuration.container_runtime_endpoint.empty()) {
    files.configuration.container_runtime_endpoint =
        EndpointInFlags(Content(host, absl::StrCat(root, "/kubeadm-flags.env")));
  }
  return files;
}

void CheckCgroupDriver(const Subject& subject, Report report) {
  if (subject.kubelet.file.empty() || !subject.kubelet.fault.empty()) return;
  const char* ours = subject.input.systemd_driver ? "systemd" : "cgroupfs";
  const std::string& theirs = subject.kubelet.configuration.cgroup_driver;
  if (theirs == ours) return;
  report.Warning(
      absl::StrCat(subject.kubelet.file, " has cgroupDriver: ", theirs, ", and plimsolld's is ",
                   ours, ": a kubelet before 1.31, which doesn't ask the runtime, starts no pod"),
      absl::StrCat("cgroupDriver: ", ours, " in kubelet's configuration"));
}

void CheckKubelet(const Subject& subject, Report report) {
  const KubeletFiles& kubelet = subject.kubelet;
  if (!kubelet.fault.empty()) {
    report.Error(absl::StrCat("kubelet's configuration can't be read: ", kubelet.fault),
                 "mend that file");
    return;
  }
  if (!kubelet.is_there && !subject.input.machine.find_program("kubelet").ok()) {
    report.Warning("kubelet isn't installed",
                   "install it, with kubeadm (https://kubernetes.io/docs/setup), k3s or k0s");
  }
  CheckEnabled(subject, report);
  const std::string& endpoint = kubelet.configuration.container_runtime_endpoint;
  if (endpoint.empty()) return;
  const absl::string_view path = absl::StripPrefix(endpoint, "unix://");
  if (path == subject.input.socket) return;
  report.Error(
      absl::StrCat("kubelet uses the runtime at ", endpoint, ", and plimsolld serves ",
                   subject.input.socket),
      absl::StrCat("containerRuntimeEndpoint: unix://", subject.input.socket, " in ",
                   kubelet.file.empty() ? "kubelet's configuration" : kubelet.file,
                   systemd::SystemdRuns(subject.input.host) ? ", then systemctl restart kubelet"
                                                            : ", then restart kubelet"));
}

void CheckOtherRuntimes(const Subject& subject, Report report) {
  std::vector<std::string> sockets;
  for (const char* socket : kOtherSockets) {
    if (subject.input.host.Exists(socket)) sockets.push_back(absl::StrCat("/", socket));
  }
  if (sockets.empty()) return;
  report.Warning(absl::StrCat("there are sockets of other runtimes (", absl::StrJoin(sockets, ", "),
                              "): kubeadm doesn't choose between several"),
                 absl::StrCat("nodeRegistration.criSocket: unix://", subject.input.socket,
                              " in kubeadm's configuration, or --cri-socket"));
}

}  // namespace plimsoll::preflight
