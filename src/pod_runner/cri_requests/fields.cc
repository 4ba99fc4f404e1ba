#include "pod_runner/cri_requests/fields.h"

#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "resources/requirements.h"

namespace plimsoll::pod {
namespace {

// Go's %q for text.
std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      absl::StrAppend(&quoted, "\\", absl::string_view(&c, 1));
    else if (c == '\n')
      quoted += "\\n";
    else if (c == '\t')
      quoted += "\\t";
    else if (c == '\r')
      quoted += "\\r";
    else if (byte < 0x20 || byte == 0x7f)
      absl::StrAppend(&quoted, "\\x", absl::Hex(byte, absl::kZeroPad2));
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string Lines(const std::map<std::string, std::string>& map) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : map) lines.push_back(absl::StrCat(key, "=", Quoted(value)));
  return absl::StrJoin(lines, "\n");
}

std::string FirstOf(const std::vector<std::string>& list) {
  return list.empty() ? "" : list.front();
}

std::string MetadataValue(const Manifest& pod, absl::string_view path, const PodContext& context) {
  if (path == "name") return pod.name;
  if (path == "namespace") return pod.pod_namespace;
  if (path == "uid") return context.uid;
  if (path == "labels") return Lines(pod.labels);
  if (path == "annotations") return Lines(pod.annotations);
  const auto lookup = [&path](const std::map<std::string, std::string>& map) {
    absl::ConsumeSuffix(&path, "']");
    const auto it = map.find(std::string(path));
    return it == map.end() ? std::string() : it->second;
  };
  if (absl::ConsumePrefix(&path, "labels['")) return lookup(pod.labels);
  if (absl::ConsumePrefix(&path, "annotations['")) return lookup(pod.annotations);
  return "";
}

std::string StatusValue(const Manifest& pod, absl::string_view path, const PodContext& context) {
  const std::vector<std::string>& ips = pod.host_network ? context.host_ips : context.pod_ips;
  if (path == "hostIP") return FirstOf(context.host_ips);
  if (path == "hostIPs") return absl::StrJoin(context.host_ips, ",");
  if (path == "podIP") return FirstOf(ips);
  if (path == "podIPs") return absl::StrJoin(ips, ",");
  return "";
}

absl::StatusOr<const ContainerManifest*> NamedContainer(const Manifest& pod,
                                                        const ContainerManifest* own,
                                                        const std::string& name) {
  if (name.empty() && own != nullptr) return own;
  for (const ContainerManifest& container : pod.containers) {
    if (container.name == name) return &container;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("resourceFieldRef: there is no container \"", name, "\""));
}

const resources::Quantity* AmountIn(const resources::ResourceList& list, const std::string& name) {
  const auto found = list.find(name);
  return found == list.end() ? nullptr : &found->second;
}

}  // namespace

std::string FieldValue(const Manifest& pod, absl::string_view path, const PodContext& context) {
  if (absl::ConsumePrefix(&path, "metadata.")) return MetadataValue(pod, path, context);
  if (absl::ConsumePrefix(&path, "status.")) return StatusValue(pod, path, context);
  if (path == "spec.nodeName") return context.node_name;
  if (path == "spec.serviceAccountName") return pod.service_account;
  return "";
}

absl::StatusOr<std::string> ResourceValue(const Manifest& pod, const ContainerManifest* container,
                                          const ResourceField& field, const PodContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ContainerManifest* of,
                            NamedContainer(pod, container, field.container));
  absl::string_view name = field.resource;
  const bool is_limit = absl::ConsumePrefix(&name, "limits.");
  if (!is_limit) absl::ConsumePrefix(&name, "requests.");
  const resources::Requirements all = resources::WithDefaults(of->resources);
  const resources::Quantity* amount =
      AmountIn(is_limit ? all.limits : all.requests, std::string(name));
  if (amount == nullptr && is_limit) amount = AmountIn(context.allocatable, std::string(name));
  if (amount == nullptr) return "0";
  // Like kubelet: CPUs by thousandths, all else by units.
  const bool is_cpu = name == "cpu";
  const int64_t whole = is_cpu ? amount->MilliValue() : amount->Value();
  const int64_t part = is_cpu ? field.divisor.MilliValue() : field.divisor.Value();
  if (part <= 0) return absl::InvalidArgumentError("resourceFieldRef: the divisor is too small");
  return absl::StrCat(whole / part + (whole % part > 0 ? 1 : 0));
}

absl::StatusOr<const Object*> FindObject(const Manifest& pod, ObjectKind kind,
                                         const std::string& name, bool optional,
                                         const PodContext& context) {
  static const auto* const kNone = new ConfigObjects;
  const ConfigObjects& objects = context.objects == nullptr ? *kNone : *context.objects;
  if (optional) return objects.Find(kind, pod.pod_namespace, name);
  return objects.Get(kind, pod.pod_namespace, name);
}

absl::StatusOr<std::optional<std::string>> ObjectValue(const Manifest& pod, const ObjectKey& key,
                                                       const PodContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Object* object,
                            FindObject(pod, key.kind, key.object, key.optional, context));
  if (object == nullptr) return std::nullopt;
  const auto found = object->data.find(key.key);
  if (found != object->data.end()) return found->second;
  if (key.optional) return std::nullopt;
  return absl::NotFoundError(absl::StrCat(NameOf(key.kind, pod.pod_namespace, key.object),
                                          " has no key \"", key.key, "\""));
}

bool NeedsPodIps(const Manifest& pod) {
  if (pod.host_network) return false;
  if (!pod.host_aliases.empty()) return true;
  for (const ContainerManifest& container : pod.containers) {
    for (const EnvVar& variable : container.env) {
      if (absl::StartsWith(variable.field_path, "status.podIP")) return true;
    }
  }
  return false;
}

}  // namespace plimsoll::pod
