#include "kubelet/config/configuration.h"

#include <exception>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "resources/quantity.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::kubelet {
namespace {

constexpr char kMemory[] = "memory";
constexpr char kMemoryAvailable[] = "memory.available";
constexpr char kDefaultMemoryAvailable[] = "100Mi";
constexpr int64_t kMostNumaNode = 65535;

// Values may be numbers: `cpu: 1`.
void Merge(YamlReader& reader, YamlMapping& mapping, const std::string& key,
           std::map<std::string, std::string>* into) {
  const auto node = mapping.Get(key);
  if (!node) return;
  reader.Entries(*node, mapping.PathOf(key),
                 [&](const std::string& name, const YAML::Node& value, const std::string& path) {
                   if (value.IsNull()) {
                     into->erase(name);
                   } else if (auto text = reader.AsText(value, path)) {
                     (*into)[name] = *std::move(text);
                   }
                 });
}

void ReadReservedMemory(YamlReader& reader, YamlMapping& mapping, Configuration* configuration) {
  if (!mapping.Get("reservedMemory")) return;
  configuration->reserved_memory.clear();
  mapping.Each("reservedMemory", [&](const YAML::Node& node, const std::string& path) {
    YamlMapping element(reader, node, path);
    Configuration::ReservedMemory& added = configuration->reserved_memory.emplace_back();
    std::optional<int64_t> numa_node;
    element.Int("numaNode", numa_node, 0, kMostNumaNode);
    added.numa_node = static_cast<uint32_t>(numa_node.value_or(0));
    Merge(reader, element, "limits", &added.limits);
  });
}

void Read(YamlReader& reader, YamlMapping& mapping, Configuration* configuration) {
  mapping.String("containerRuntimeEndpoint", configuration->container_runtime_endpoint);
  mapping.String("reservedSystemCPUs", configuration->reserved_system_cpus);
  mapping.String("cpuManagerPolicy", configuration->cpu_manager_policy);
  mapping.String("memoryManagerPolicy", configuration->memory_manager_policy);
  mapping.String("systemReservedCgroup", configuration->system_reserved_cgroup);
  mapping.String("kubeReservedCgroup", configuration->kube_reserved_cgroup);
  mapping.Bool("mergeDefaultEvictionSettings", configuration->merge_default_eviction_settings);
  Merge(reader, mapping, "cpuManagerPolicyOptions", &configuration->cpu_manager_policy_options);
  Merge(reader, mapping, "systemReserved", &configuration->system_reserved);
  Merge(reader, mapping, "kubeReserved", &configuration->kube_reserved);
  if (mapping.Get("evictionHard")) {
    if (!configuration->eviction_hard) configuration->eviction_hard.emplace();
    Merge(reader, mapping, "evictionHard", &*configuration->eviction_hard);
  }
  if (const auto swap = mapping.Get("memorySwap")) {
    YamlMapping(reader, *swap, mapping.PathOf("memorySwap"))
        .String("swapBehavior", configuration->swap_behavior);
  }
  mapping.Bool("failSwapOn", configuration->fail_swap_on);
  mapping.OptionalBool("failCgroupV1", configuration->fail_cgroup_v1);
  mapping.String("cgroupDriver", configuration->cgroup_driver);
  mapping.Bool("protectKernelDefaults", configuration->protect_kernel_defaults);
  ReadReservedMemory(reader, mapping, configuration);
}

}  // namespace

absl::Status Overlay(const std::string& text, const std::string& file,
                     Configuration* configuration) {
  YAML::Node document;
  bool more = false;
  try {
    document = LoadFirstYamlDocument(text, &more);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", error.what()));
  }
  YamlReader reader(file);
  if (!document.IsMap()) {
    reader.Fail(document, "", "must be a KubeletConfiguration, a mapping");
    return reader.status();
  }
  YamlMapping outer(reader, document, "");
  const auto of_configz = outer.Get("kubeletconfig");
  if (of_configz) {
    YamlMapping inner(reader, *of_configz, "kubeletconfig");
    Read(reader, inner, configuration);
    return reader.status();
  }
  std::string kind;
  outer.String("kind", kind);
  if (reader.status().ok() && kind != "KubeletConfiguration") {
    reader.Fail(document, "kind", "must be KubeletConfiguration");
  }
  Read(reader, outer, configuration);
  return reader.status();
}

absl::StatusOr<uint64_t> EvictionBytes(const Configuration& configuration, uint64_t capacity) {
  std::string available = kDefaultMemoryAvailable;
  if (configuration.eviction_hard) {
    const auto found = configuration.eviction_hard->find(kMemoryAvailable);
    if (found != configuration.eviction_hard->end()) {
      available = found->second;
    } else if (!configuration.merge_default_eviction_settings) {
      return 0;
    }
  }
  absl::string_view share = available;
  if (absl::ConsumeSuffix(&share, "%")) {
    // Kubelet computes the same: the share as a 32-bit number.
    float percent = 0;
    if (!absl::SimpleAtof(share, &percent) || !(percent >= 0 && percent <= 100)) {
      return absl::InvalidArgumentError(absl::StrCat("evictionHard: memory.available: \"",
                                                     available, "\" is no share of 0% to 100%"));
    }
    return static_cast<uint64_t>(static_cast<double>(capacity) *
                                 static_cast<double>(percent / 100));
  }
  const absl::StatusOr<uint64_t> bytes = MemoryIn({{kMemory, available}});
  if (bytes.ok()) return bytes;
  return Annotate(bytes.status(), "evictionHard: memory.available");
}

absl::StatusOr<uint64_t> MemoryIn(const std::map<std::string, std::string>& reserved) {
  const auto found = reserved.find(kMemory);
  if (found == reserved.end()) return 0;
  PLIMSOLL_ASSIGN_OR_RETURN(const resources::Quantity amount,
                            resources::Quantity::Parse(found->second));
  if (amount.Sign() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory: \"", found->second, "\" is negative; it must be 0 or more"));
  }
  return static_cast<uint64_t>(amount.Value());
}

bool IsStrict(const Configuration& configuration) {
  const auto& options = configuration.cpu_manager_policy_options;
  const auto found = options.find("strict-cpu-reservation");
  return found != options.end() && (found->second == "true" || found->second == "1");
}

}  // namespace plimsoll::kubelet
