#include "agent/import_plan.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text/printable.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::agent {
namespace {

constexpr size_t kMostUidBytes = 253;

template <typename Labels>
std::string LabelOf(const Labels& labels, const char* name) {
  const auto it = labels.find(name);
  return it == labels.end() ? "" : it->second;
}

bool IsKey(const PodKey& key) {
  return pod::IsDnsName(key.pod_namespace, /*dots=*/false) && pod::IsDnsName(key.name, true);
}

std::string HasText(const std::string& start, const ContainerGrant& grant) {
  std::vector<std::string> parts;
  if (!grant.cpus.Empty()) parts.push_back(absl::StrCat("CPUs ", grant.cpus.ToString()));
  NodeMask nodes;
  for (const MemoryBlock& block : grant.memory) nodes = nodes | block.nodes;
  if (!nodes.Empty()) {
    parts.push_back(absl::StrCat("memory of NUMA ", absl::StrJoin(nodes.ToVector(), ",")));
  }
  return absl::StrCat(start, absl::StrJoin(parts, ", "));
}

std::string HasText(const PodGrant& grant) {
  std::vector<std::string> parts;
  if (!grant.pod.Empty()) parts.push_back(HasText("pod ", grant.pod));
  for (const auto& [name, container] : grant.containers) {
    if (!container.Empty()) parts.push_back(HasText(absl::StrCat(name, " "), container));
  }
  return absl::StrJoin(parts, "; ");
}

// Gives CPUs of the first form, which are by container id, to their pods. The others get lines.
void ResolveIds(const KubeletNames& names, KubeletState& state, ImportPlan& plan) {
  for (const auto& [id, cpus] : state.cpus_by_id) {
    const auto container = names.containers.find(id);
    if (container == names.containers.end()) {
      plan.lines.push_back({absl::StrCat("container ", id), absl::StrCat("CPUs ", cpus.ToString()),
                            "the runtime doesn't know the container"});
      continue;
    }
    const auto& [uid, name] = container->second;
    state.pods[uid].containers[name] = {
        .cpus = cpus, .cpu_count = static_cast<int64_t>(cpus.Size()), .memory = {}};
  }
}

}  // namespace

void KubeletNames::Add(const std::vector<::runtime::v1::PodSandbox>& sandboxes) {
  for (const auto& each : sandboxes) {
    const std::string uid = LabelOf(each.labels(), pod::kPodUidLabel);
    PodKey key = {LabelOf(each.labels(), pod::kPodNamespaceLabel),
                  LabelOf(each.labels(), pod::kPodNameLabel)};
    if (!uid.empty() && IsKey(key)) pods.emplace(uid, std::move(key));
  }
}

void KubeletNames::Add(const std::vector<::runtime::v1::Container>& all) {
  for (const auto& each : all) {
    const std::string uid = LabelOf(each.labels(), pod::kPodUidLabel);
    const std::string name = LabelOf(each.labels(), pod::kContainerNameLabel);
    if (!uid.empty() && !name.empty()) containers.emplace(each.id(), std::pair(uid, name));
  }
}

absl::StatusOr<std::pair<std::string, PodKey>> ParsePodName(absl::string_view text) {
  const std::vector<std::string> halves = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (halves.size() == 2 && !halves[0].empty() && halves[0].size() <= kMostUidBytes) {
    const std::vector<std::string> parts = absl::StrSplit(halves[1], '/');
    if (parts.size() == 2 && IsKey({parts[0], parts[1]})) {
      return std::pair(halves[0], PodKey{parts[0], parts[1]});
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--pod ", Printable(text), ": must be UID=NAMESPACE/NAME"));
}

bool ImportPlan::IsComplete() const {
  return std::all_of(lines.begin(), lines.end(),
                     [](const Line& line) { return line.refusal.empty(); });
}

ImportPlan PlanImport(KubeletState state, const KubeletNames& names,
                      const std::vector<PodKey>& taken) {
  ImportPlan plan;
  ResolveIds(names, state, plan);
  for (auto& [uid, grant] : state.pods) {
    if (grant.Empty()) continue;
    ImportPlan::Line line = {absl::StrCat("uid ", uid), HasText(grant), ""};
    const auto key = names.pods.find(uid);
    if (key == names.pods.end()) {
      line.refusal =
          absl::StrCat("its name is not known; give it by --pod ", uid, "=NAMESPACE/NAME");
    } else {
      line.pod = absl::StrCat(key->second.pod_namespace, "/", key->second.name);
      const auto same = std::find_if(plan.grants.begin(), plan.grants.end(),
                                     [&](const auto& each) { return each.key == key->second; });
      if (std::find(taken.begin(), taken.end(), key->second) != taken.end()) {
        line.refusal = "the agent has the pod already";
      } else if (same != plan.grants.end()) {
        line.refusal = absl::StrCat("uid ", uid, " has the name of uid ", same->uid);
      } else {
        plan.grants.push_back({uid, key->second, std::move(grant)});
      }
    }
    plan.lines.push_back(std::move(line));
  }
  std::stable_sort(plan.lines.begin(), plan.lines.end(),
                   [](const ImportPlan::Line& one, const ImportPlan::Line& other) {
                     return one.pod < other.pod;
                   });
  return plan;
}

std::string ImportTable(const ImportPlan& plan) {
  if (plan.lines.empty()) return "no pod has CPUs or memory of its own\n";
  size_t width = 0;
  for (const ImportPlan::Line& line : plan.lines) width = std::max(width, line.pod.size());
  std::string table;
  for (const ImportPlan::Line& line : plan.lines) {
    absl::StrAppend(&table, line.pod, std::string(width - line.pod.size(), ' '), "  ",
                    line.refusal.empty() ? "imported" : "NOT imported", "  ", line.has,
                    line.refusal.empty() ? "" : absl::StrCat(": ", line.refusal), "\n");
  }
  return table;
}

}  // namespace plimsoll::agent
