#include "runtime/objects/sandbox_place.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "linux/namespaces/mounts.h"
#include "linux/namespaces/namespaces.h"
#include "linux/selinux.h"

namespace plimsoll::runtime {
namespace {

constexpr uint64_t kShmBytes = 64 << 20;  // of /dev/shm in every container runtime
constexpr size_t kMaxHostname = 63;       // of a pod, as kubelet cuts it

constexpr char kPictureDirectory[] = "picture";

std::string DirectoryOf(const std::string& id) {
  return absl::StrCat("sandboxes/", id);
}

bool HasOwnHostname(const SandboxSpec& spec) {
  return spec.namespaces.network == NamespaceMode::kPod;
}

std::string Hosts(const FsRoot& host, const SandboxSpec& spec,
                  const std::vector<std::string>& addresses) {
  if (!HasOwnHostname(spec)) return host.Read("etc/hosts").value_or("127.0.0.1\tlocalhost\n");
  std::string text =
      "127.0.0.1\tlocalhost\n"
      "::1\tlocalhost ip6-localhost ip6-loopback\n"
      "fe00::0\tip6-localnet\nff00::0\tip6-mcastprefix\n"
      "ff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n";
  for (const std::string& address : addresses) {
    absl::StrAppend(&text, address, "\t", HostnameOf(spec), "\n");
  }
  return text;
}

// resolv.conf(5).
std::string ResolvConf(const FsRoot& host, const SandboxSpec& spec) {
  if (spec.dns_servers.empty() && spec.dns_searches.empty() && spec.dns_options.empty()) {
    return host.Read("etc/resolv.conf").value_or("");
  }
  std::string text;
  if (!spec.dns_searches.empty()) {
    absl::StrAppend(&text, "search ", absl::StrJoin(spec.dns_searches, " "), "\n");
  }
  for (const std::string& server : spec.dns_servers) {
    absl::StrAppend(&text, "nameserver ", server, "\n");
  }
  if (!spec.dns_options.empty()) {
    absl::StrAppend(&text, "options ", absl::StrJoin(spec.dns_options, " "), "\n");
  }
  return text;
}

absl::Status WriteEtcFiles(const FsRoot& host, const FsRoot& directory, const SandboxSpec& spec) {
  PLIMSOLL_RETURN_IF_ERROR(directory.ReplaceFile("hosts", Hosts(host, spec, {"127.0.1.1"}), 0644));
  PLIMSOLL_RETURN_IF_ERROR(directory.ReplaceFile("resolv.conf", ResolvConf(host, spec), 0644));
  std::string hostname = HostnameOf(spec);
  if (hostname.empty()) {  // the host's network: the host's name
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, host.Read("proc/sys/kernel/hostname"));
    hostname = std::string(absl::StripAsciiWhitespace(text));
  }
  return directory.ReplaceFile("hostname", absl::StrCat(hostname, "\n"), 0644);
}

absl::Status LabelFile(const FsRoot& root, const std::string& file, const std::string& label) {
  return label.empty() ? absl::OkStatus() : linux::SetFileLabel(root, file, label);
}

}  // namespace

std::string FullName(const SandboxSpec& spec) {
  return absl::StrCat(spec.pod_namespace, "/", spec.name);
}

std::string HostnameOf(const SandboxSpec& spec) {
  if (!HasOwnHostname(spec)) return "";
  return (spec.hostname.empty() ? spec.name : spec.hostname).substr(0, kMaxHostname);
}

absl::Status MakeSandboxPlace(const FsRoot& host, const FsRoot& run, const std::string& id,
                              const SandboxSpec& spec, const NetworkRights& rights,
                              const std::string& file_label) {
  const std::string name = DirectoryOf(id);
  // 0711: a container's user must be able to reach the /etc files that are mounted from here.
  PLIMSOLL_RETURN_IF_ERROR(run.MakeDirs(name, 0711));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, run.Sub(name));

  linux::NamespaceRequest request;
  request.network = spec.namespaces.network == NamespaceMode::kPod;
  request.ipc = spec.namespaces.ipc == NamespaceMode::kPod;
  request.uts = HasOwnHostname(spec);
  request.hostname = HostnameOf(spec);
  request.sysctls = PodSysctls(host, spec, rights);
  request.uids = spec.namespaces.uid_mappings;
  request.gids = spec.namespaces.gid_mappings;
  PLIMSOLL_RETURN_IF_ERROR(linux::PinNamespaces(directory, request));
  if (request.ipc) {
    PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("shm", 01777));
    PLIMSOLL_RETURN_IF_ERROR(linux::MountTmpfs(directory.PathOf("shm"), kShmBytes, file_label));
  }
  PLIMSOLL_RETURN_IF_ERROR(WriteEtcFiles(host, directory, spec));
  for (const char* file : {"hosts", "hostname", "resolv.conf"}) {
    PLIMSOLL_RETURN_IF_ERROR(LabelFile(directory, file, file_label));
  }
  return absl::OkStatus();
}

absl::Status WriteHosts(const FsRoot& host, const FsRoot& run, const std::string& id,
                        const SandboxSpec& spec, const std::vector<std::string>& addresses,
                        const std::string& file_label) {
  if (addresses.empty()) return absl::OkStatus();
  const std::string file = absl::StrCat(DirectoryOf(id), "/hosts");
  PLIMSOLL_RETURN_IF_ERROR(run.ReplaceFile(file, Hosts(host, spec, addresses), 0644));
  return LabelFile(run, file, file_label);
}

absl::Status ReleaseSandboxPlace(const FsRoot& host, const FsRoot& run, const std::string& id) {
  const absl::StatusOr<FsRoot> directory = run.Sub(DirectoryOf(id));
  if (absl::IsNotFound(directory.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(directory.status());
  return FirstError(linux::UnpinNamespaces(*directory),
                    linux::UnmountBelow(host, directory->path()));
}

absl::Status RemoveSandboxPlace(const FsRoot& host, const FsRoot& run, const std::string& id) {
  PLIMSOLL_RETURN_IF_ERROR(ReleaseSandboxPlace(host, run, id));
  return run.RemoveTree(DirectoryOf(id));
}

absl::StatusOr<PlaceState> LookAtSandboxPlace(const FsRoot& run, const std::string& id,
                                              const SandboxSpec& spec) {
  const absl::StatusOr<FsRoot> directory = run.Sub(DirectoryOf(id));
  if (!absl::IsNotFound(directory.status())) PLIMSOLL_RETURN_IF_ERROR(directory.status());
  const bool network = spec.namespaces.network == NamespaceMode::kPod;
  int wanted = 0;
  int pinned = 0;
  for (const auto& [name, want] :
       {std::pair("net", network), std::pair("ipc", spec.namespaces.ipc == NamespaceMode::kPod),
        std::pair("uts", HasOwnHostname(spec)),
        std::pair("user", spec.namespaces.has_user_namespace()),
        std::pair("pid", spec.namespaces.pid == NamespaceMode::kPod)}) {
    wanted += want;
    if (!directory.ok()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_pinned, linux::IsPinned(*directory, name));
    pinned += is_pinned;
  }
  if (pinned == wanted) return PlaceState::kWhole;
  return pinned == 0 ? PlaceState::kNone : PlaceState::kPart;
}

std::string AnnouncedFileOf(const std::string& id) {
  return absl::StrCat(DirectoryOf(id), "/announced-resources.json");
}

std::string WantedFileOf(const std::string& id) {
  return absl::StrCat(DirectoryOf(id), "/wanted-resources.json");
}

std::string KeptDevicesFileOf(const std::string& id) {
  return absl::StrCat(DirectoryOf(id), "/cdi-devices.json");
}

std::string StoppedFileOf(const std::string& id) {
  return absl::StrCat(DirectoryOf(id), "/stopped");
}

std::string PictureDirectoryOf(const std::string& id) {
  return absl::StrCat(DirectoryOf(id), "/", kPictureDirectory);
}

absl::StatusOr<FsRoot> OpenPictureDirectory(const FsRoot& run, const std::string& id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot place, run.Sub(DirectoryOf(id)));
  PLIMSOLL_RETURN_IF_ERROR(place.MakeDirs(kPictureDirectory, 0755));
  return place.Sub(kPictureDirectory);
}

std::string NetworkNamespaceOf(const std::string& id, const SandboxSpec& spec) {
  if (spec.namespaces.network != NamespaceMode::kPod) return "";
  return absl::StrCat(DirectoryOf(id), "/net");
}

SandboxPlace PlaceOf(const FsRoot& run, const std::string& id, const SandboxSpec& spec) {
  const std::string directory = run.PathOf(DirectoryOf(id));
  SandboxPlace place;
  const std::string network = NetworkNamespaceOf(id, spec);
  if (!network.empty()) place.network_namespace = run.PathOf(network);
  if (spec.namespaces.ipc == NamespaceMode::kPod) {
    place.ipc_namespace = absl::StrCat(directory, "/ipc");
    place.shm_directory = absl::StrCat(directory, "/shm");
  } else {
    place.shm_directory = "/dev/shm";
  }
  if (spec.namespaces.pid == NamespaceMode::kPod) {
    place.pid_namespace = absl::StrCat(directory, "/pid");
  }
  if (spec.namespaces.has_user_namespace()) {
    place.user_namespace = absl::StrCat(directory, "/user");
  }
  place.hostname = HostnameOf(spec);
  if (!place.hostname.empty()) {
    place.uts_namespace = absl::StrCat(directory, "/uts");
  }
  // Pods with the host's network that an earlier version made have no such file.
  if (run.Exists(absl::StrCat(DirectoryOf(id), "/hostname"))) {
    place.etc_hostname = absl::StrCat(directory, "/hostname");
  }
  place.selinux = spec.selinux;
  place.etc_hosts = absl::StrCat(directory, "/hosts");
  place.etc_resolv_conf = absl::StrCat(directory, "/resolv.conf");
  return place;
}

}  // namespace plimsoll::runtime
