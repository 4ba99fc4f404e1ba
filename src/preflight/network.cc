#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "network/config_directory.h"
#include "network/plugins.h"
#include "preflight/report.h"
#include "systemd/units.h"

namespace plimsoll::preflight {
namespace {

constexpr char kOwnNetwork[] = "/99-plimsoll";  // of packaging/, in any form
constexpr char kNodesNetwork[] =
    "install the cluster's network (Flannel, Calico, Cilium, ...), or for a node of its own the "
    "package plimsoll-cni-default";

// Plugins of github.com/containernetworking/plugins that are in Debian 12's package.
constexpr absl::string_view kPackagedPlugins[] = {
    "bandwidth", "bridge",  "dhcp", "firewall", "host-device", "host-local", "ipvlan", "loopback",
    "macvlan",   "portmap", "ptp",  "sbr",      "static",      "tuning",     "vlan",   "vrf"};

struct Port {
  uint16_t number;
  bool is_control_planes;
  const char* what;
};
constexpr Port kPorts[] = {{10250, false, "kubelet"},
                           {6443, true, "the API server"},
                           {2379, true, "etcd"},
                           {2380, true, "etcd"},
                           {10257, true, "the controller manager"},
                           {10259, true, "the scheduler"}};
// Names of processes, of which the kernel keeps 15 bytes.
constexpr const char* kOwners[] = {
    "kubelet",        "kube-apiserver", "etcd",      "kube-controller",
    "kube-scheduler", "k3s-server",     "k3s-agent", "k0s"};

// The program of a plugin's address manager; empty: it has none.
std::string IpamOf(const std::string& plugin) {
  const auto json = nlohmann::json::parse(plugin, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return "";
  const auto ipam = json.find("ipam");
  if (ipam == json.end() || !ipam->is_object()) return "";
  const auto type = ipam->find("type");
  return type != ipam->end() && type->is_string() ? type->get<std::string>() : "";
}

std::string HowToGetPlugin(const Input& input, const std::string& type) {
  const std::string place =
      absl::StrCat("put the plugin into one of ", absl::StrJoin(input.plugins, ", "));
  if (!absl::c_linear_search(kPackagedPlugins, type)) return place;
  return absl::StrCat(HowToInstall(input.host, "containernetworking-plugins"), ", or ", place);
}

std::string HowToNameHost(const Input& input) {
  return systemd::SystemdRuns(input.host) ? "hostnamectl set-hostname NAME"
                                          : "echo NAME | tee /etc/hostname "
                                            ">/proc/sys/kernel/hostname";
}

// Inodes of the TCP sockets that listen, by port, in the machine's network namespace.
std::map<uint16_t, uint64_t> Listeners(const FsRoot& host) {
  std::map<uint16_t, uint64_t> listeners;
  for (const char* file : {"proc/1/net/tcp", "proc/1/net/tcp6"}) {
    for (absl::string_view line : absl::StrSplit(host.Read(file).value_or(""), '\n')) {
      const std::vector<absl::string_view> words =
          absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
      constexpr absl::string_view kListens = "0A";  // TCP_LISTEN
      if (words.size() < 10 || words[3] != kListens) continue;
      const absl::string_view hex = words[1].substr(words[1].rfind(':') + 1);
      uint32_t port = 0;
      uint64_t inode = 0;
      if (!absl::SimpleHexAtoi(hex, &port) || !absl::SimpleAtoi(words[9], &inode)) continue;
      listeners[static_cast<uint16_t>(port)] = inode;
    }
  }
  return listeners;
}

// The name of a process that has the socket; empty: none is seen.
std::string OwnerOf(const FsRoot& host, uint64_t inode) {
  const std::string wanted = absl::StrCat("socket:[", inode, "]");
  for (const std::string& process : host.List("proc").value_or(std::vector<std::string>())) {
    if (!absl::c_all_of(process, absl::ascii_isdigit)) continue;
    const std::string directory = absl::StrCat("proc/", process, "/fd");
    for (const std::string& fd : host.List(directory).value_or(std::vector<std::string>())) {
      if (host.ReadLink(absl::StrCat(directory, "/", fd)).value_or("") == wanted) {
        return Content(host, absl::StrCat("proc/", process, "/comm"));
      }
    }
  }
  return "";
}

// RFC 1123: labels of letters, digits and hyphens, 63 at most, which begin and end with no hyphen.
bool IsNodeName(absl::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (const absl::string_view label : absl::StrSplit(name, '.')) {
    const bool is_label = !label.empty() && label.size() <= 63 && label.front() != '-' &&
                          label.back() != '-' && absl::c_all_of(label, [](char c) {
                            return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
                          });
    if (!is_label) return false;
  }
  return true;
}

}  // namespace

void CheckNetwork(const Subject& subject, Report report) {
  const Input& input = subject.input;
  network::ConfigDirectory directory(input.host, input.network_directory, nullptr);
  const auto current = directory.Current();
  if (!current.ok()) {
    return report.Error(absl::StrCat("pods have no network, and the node is not Ready: ",
                                     current.status().message()),
                        input.network_directory.empty() ? "set network.config_dir in plimsolld.yaml"
                        : absl::IsNotFound(current.status()) ? kNodesNetwork
                                                             : "mend or remove these files");
  }
  const network::NetworkConfig& config = **current;
  const network::Plugins plugins(input.host, input.plugins, absl::Seconds(1), nullptr);
  std::vector<std::string> types;
  for (const network::PluginConfig& plugin : config.plugins) {
    for (const std::string& type : {plugin.type, IpamOf(plugin.json)}) {
      if (!type.empty() && !absl::c_linear_search(types, type)) types.push_back(type);
    }
  }
  for (const std::string& type : types) {
    const absl::Status found = plugins.Find(type).status();
    if (found.ok()) continue;
    report.Error(absl::StrCat(config.file, ": ", found.message()),
                 absl::IsNotFound(found) ? HowToGetPlugin(input, type) : "change the file's mode");
  }
  if (subject.kubelet.is_there && absl::StrContains(config.file, kOwnNetwork)) {
    report.Warning(
        absl::StrCat(config.file, " is the network: pods of other nodes are not reached"),
        kNodesNetwork);
  }
}

void CheckHostName(const Subject& subject, Report report) {
  // kubelet and kubeadm take capital letters for small ones.
  const std::string name = absl::AsciiStrToLower(subject.input.machine.host_name);
  if (!IsNodeName(name)) {
    return report.Error(
        absl::StrCat("the host name \"", name,
                     "\" can't be a node's: letters, digits, hyphens and dots make one"),
        absl::StrCat(HowToNameHost(subject.input), "; or --hostname-override for kubelet"));
  }
  if (name == "localhost" || absl::StartsWith(name, "localhost.")) {
    return report.Warning("the host name is localhost, and each node needs its own",
                          HowToNameHost(subject.input));
  }
  const absl::Status resolved = subject.input.machine.resolve(name);
  if (resolved.ok()) return;
  report.Warning(absl::StrCat("the host name ", name, " has no address: ", resolved.message()),
                 absl::StrCat("echo '127.0.1.1 ", name, "' >>/etc/hosts, or make it known to DNS"));
}

void CheckPorts(const Subject& subject, Report report) {
  const FsRoot& host = subject.input.host;
  const std::map<uint16_t, uint64_t> listeners = Listeners(host);
  for (const Port& port : kPorts) {
    const auto taken = listeners.find(port.number);
    if (taken == listeners.end()) continue;
    const std::string owner = OwnerOf(host, taken->second);
    // Without root, or in another PID namespace, the owner isn't seen: it may be the right one.
    if (owner.empty() || absl::c_linear_search(kOwners, owner)) continue;
    const std::string what =
        absl::StrCat("port ", port.number, ", which ", port.what, " needs, is used by ", owner);
    const std::string remedy =
        absl::StrCat("stop it: ss -ltnp 'sport = :", port.number, "' names it");
    if (port.is_control_planes) {
      report.Warning(absl::StrCat(what, ": the node can't be part of a control plane"), remedy);
    } else {
      report.Error(what, remedy);
    }
  }
}

}  // namespace plimsoll::preflight
