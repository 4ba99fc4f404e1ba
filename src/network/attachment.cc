#include "network/attachment.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "network/json.h"

namespace plimsoll::network {
namespace {

// The burst above the rate: practically unlimited, as in the other runtimes.
constexpr int64_t kBurstBits = INT32_MAX;
constexpr size_t kMaxRecordDepth = 40;  // a configuration, one level further down

Json PortMappings(const std::vector<PortMapping>& mappings) {
  Json list = Json::array();
  for (const PortMapping& mapping : mappings) {
    Json object = {{"hostPort", mapping.host_port},
                   {"containerPort", mapping.container_port},
                   {"protocol", mapping.protocol}};
    if (!mapping.host_ip.empty()) object["hostIP"] = mapping.host_ip;
    list.push_back(std::move(object));
  }
  return list;
}

Json Bandwidth(const CapabilityArgs& capabilities) {
  Json object = Json::object();
  if (capabilities.ingress_bits_per_second.has_value()) {
    object["ingressRate"] = *capabilities.ingress_bits_per_second;
    object["ingressBurst"] = kBurstBits;
  }
  if (capabilities.egress_bits_per_second.has_value()) {
    object["egressRate"] = *capabilities.egress_bits_per_second;
    object["egressBurst"] = kBurstBits;
  }
  return object;
}

// Each prefix is a set of its own: the pod gets one address from each.
Json IpRanges(const std::vector<std::string>& prefixes) {
  Json sets = Json::array();
  for (const std::string& prefix : prefixes) {
    Json range = Json::object();
    range["subnet"] = prefix;
    Json set = Json::array();
    set.push_back(std::move(range));
    sets.push_back(std::move(set));
  }
  return sets;
}

absl::Status CheckArgument(const char* name, const std::string& value) {
  const bool valid = absl::c_all_of(
      value, [](unsigned char c) { return absl::ascii_isgraph(c) && c != ';' && c != '='; });
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " \"", OneLine(value),
      "\" can't be passed to network plugins: it has a space, ';' or '=', or characters "
      "outside printable ASCII"));
}

}  // namespace

absl::StatusOr<std::string> ArgsOf(const Attachment& attachment) {
  std::string args = "IgnoreUnknown=1";
  for (const auto& [key, name, value] :
       {std::tuple<const char*, const char*, const std::string&>("K8S_POD_NAMESPACE", "namespace",
                                                                 attachment.pod_namespace),
        {"K8S_POD_NAME", "pod name", attachment.pod_name},
        {"K8S_POD_INFRA_CONTAINER_ID", "sandbox id", attachment.id},
        {"K8S_POD_UID", "pod uid", attachment.pod_uid}}) {
    PLIMSOLL_RETURN_IF_ERROR(CheckArgument(name, value));
    absl::StrAppend(&args, ";", key, "=", value);
  }
  return args;
}

std::string PodOf(const Record& record) {
  absl::string_view name;
  absl::string_view pod_namespace;
  for (absl::string_view argument : absl::StrSplit(record.args, ';')) {
    if (absl::ConsumePrefix(&argument, "K8S_POD_NAMESPACE=")) pod_namespace = argument;
    if (absl::ConsumePrefix(&argument, "K8S_POD_NAME=")) name = argument;
  }
  return absl::StrCat(pod_namespace, "/", name);
}

std::map<std::string, std::string> CapabilitiesOf(const Attachment& attachment,
                                                  const std::vector<std::string>& ip_ranges) {
  std::map<std::string, std::string> values;
  const CapabilityArgs& asked = attachment.capabilities;
  if (!asked.port_mappings.empty())
    values["portMappings"] = Dump(PortMappings(asked.port_mappings));
  if (const Json bandwidth = Bandwidth(asked); !bandwidth.empty()) {
    values["bandwidth"] = Dump(bandwidth);
  }
  const Dns& dns = attachment.dns;
  if (dns != Dns()) {
    const Json object = {
        {"servers", dns.nameservers}, {"searches", dns.search}, {"options", dns.options}};
    values["dns"] = Dump(object);
  }
  if (!ip_ranges.empty()) values["ipRanges"] = Dump(IpRanges(ip_ranges));
  return values;
}

bool HasNamespace(const Record& record) {
  struct statfs info = {};
  return statfs(record.netns.c_str(), &info) == 0 && info.f_type == NSFS_MAGIC;
}

std::string ToJson(const Record& record) {
  Json json;
  json["containerId"] = record.id;
  json["netns"] = record.netns;
  json["bootId"] = record.boot_id;
  json["ifName"] = record.ifname;
  json["args"] = record.args;
  json["capabilities"] = Json::object();
  for (const auto& [name, value] : record.capabilities) {
    json["capabilities"][name] = Json::parse(value, nullptr, /*allow_exceptions=*/false);
  }
  json["network"] = Json::parse(ToJson(record.config), nullptr, /*allow_exceptions=*/false);
  return Dump(json);
}

absl::StatusOr<Record> RecordFromJson(absl::string_view text) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ParseObject(text, kMaxRecordDepth));
  Record record;
  PLIMSOLL_RETURN_IF_ERROR(ReadText(json, "containerId", &record.id));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(json, "netns", &record.netns));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(json, "bootId", &record.boot_id));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(json, "ifName", &record.ifname));
  PLIMSOLL_RETURN_IF_ERROR(ReadText(json, "args", &record.args));
  if (const auto found = json.find("capabilities"); found != json.end() && found->is_object()) {
    for (const auto& [name, value] : found->items()) record.capabilities[name] = Dump(value);
  }
  const auto network = json.find("network");
  if (network == json.end()) return absl::InvalidArgumentError("network: is missing");
  absl::StatusOr<NetworkConfig> config = ParseConfig(Dump(*network), ConfigFormat::kList);
  if (!config.ok()) return Annotate(config.status(), "network");
  record.config = *std::move(config);
  return record;
}

}  // namespace plimsoll::network
