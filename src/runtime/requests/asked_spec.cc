#include "runtime/requests/asked_spec.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "linux/cgroup/merge.h"

namespace plimsoll::runtime {
namespace {

constexpr size_t kNamedFields = 8;  // in a message

AskedParts PartsOf(const ContainerSpec& spec) {
  return {spec.resources, spec.mounts, spec.devices, spec.cdi_devices};
}

struct Field {
  std::string name;
  std::string key;
};

// The fields that an update sets, by the protocol's names.
std::vector<Field> FieldsOf(const ResourceUpdate& update) {
  const linux::CgroupSettings& set = update.cgroup;
  std::vector<Field> fields;
  const auto add = [&fields](bool is_set, const char* name, const std::string& key = "") {
    if (is_set) fields.push_back({absl::StrCat("linux.", name), key});
  };
  add(set.cpu_shares.has_value(), "resources.cpu.shares");
  add(set.cpu_quota_us.has_value(), "resources.cpu.quota");
  add(set.cpu_period_us.has_value(), "resources.cpu.period");
  add(set.cpuset_cpus.has_value(), "resources.cpu.cpus");
  add(set.cpuset_mems.has_value(), "resources.cpu.mems");
  add(set.memory_limit_bytes.has_value(), "resources.memory.limit");
  add(set.memory_swap_limit_bytes.has_value(), "resources.memory.swap");
  add(set.pids_limit.has_value(), "resources.pids");
  for (const auto& [size, limit] : set.hugetlb_limits) {
    add(true, "resources.hugepage_limits", size);
  }
  for (const auto& [file, text] : set.unified) add(true, "resources.unified", file);
  for (const auto& [type, name] : update.classes) {
    add(true, absl::StrCat("resources.", type, "_class").c_str());
  }
  add(update.oom_score_adj.has_value(), "oom_score_adj");
  return fields;
}

}  // namespace

ContainerSpec AsAsked(ContainerSpec spec) {
  if (!spec.asked.has_value()) return spec;
  AskedParts asked = *std::move(spec.asked);
  spec.asked.reset();
  spec.resources = std::move(asked.resources);
  spec.mounts = std::move(asked.mounts);
  spec.devices = std::move(asked.devices);
  spec.cdi_devices = std::move(asked.cdi_devices);
  return spec;
}

ContainerSpec TakeAdjusted(const ContainerSpec& asked, ContainerSpec adjusted) {
  adjusted.name = asked.name;
  adjusted.attempt = asked.attempt;
  adjusted.image = asked.image;
  adjusted.log_path = asked.log_path;
  adjusted.kubernetes_resources = asked.kubernetes_resources;
  adjusted.said = asked.said;
  adjusted.asked.reset();
  AskedParts parts = PartsOf(asked);
  if (PartsOf(adjusted) != parts) adjusted.asked = std::move(parts);
  return adjusted;
}

void TakeUpdate(const ResourceUpdate& update, const linux::CgroupSettings& by_client,
                linux::CgroupLayout layout, ContainerSpec* spec) {
  if (!spec->asked.has_value() && update.cgroup != by_client) spec->asked = PartsOf(*spec);
  if (spec->asked.has_value()) linux::MergeUpdate(by_client, layout, &spec->asked->resources);
  linux::MergeUpdate(update.cgroup, layout, &spec->resources);
  spec->oom_score_adj = update.oom_score_adj.value_or(spec->oom_score_adj);
  // The later word on a field is another's now.
  std::vector<Field> fields = FieldsOf(update);
  for (const PluginChange& change : update.changed_by) fields.push_back({change.field, change.key});
  std::erase_if(spec->changed_by, [&fields](const PluginChange& change) {
    return absl::c_any_of(fields, [&change](const Field& field) {
      return change.field == field.name && change.key == field.key;
    });
  });
  spec->changed_by.insert(spec->changed_by.end(), update.changed_by.begin(),
                          update.changed_by.end());
}

absl::Status NamePlugins(const absl::Status& failure, const std::vector<PluginChange>& changes) {
  if (failure.ok() || changes.empty()) return failure;
  std::set<std::string> plugins;
  std::vector<std::string> fields;
  for (const PluginChange& change : changes) {
    plugins.insert(change.plugin);
    if (!absl::c_linear_search(fields, change.field)) fields.push_back(change.field);
  }
  const bool is_cut = fields.size() > kNamedFields;
  fields.resize(std::min(fields.size(), kNamedFields));
  // In brackets, since the mistake may be the client's.
  const bool is_one = plugins.size() == 1;
  absl::Status named(failure.code(),
                     absl::StrCat(failure.message(), is_one ? " (plugin " : " (plugins ",
                                  absl::StrJoin(plugins, " and "), is_one ? " has" : " have",
                                  " changed this request: ", absl::StrJoin(fields, ", "),
                                  is_cut ? ", ..." : "", ")"));
  failure.ForEachPayload([&named](absl::string_view type, const absl::Cord& payload) {
    named.SetPayload(type, payload);
  });
  return named;
}

}  // namespace plimsoll::runtime
