#include "cli/pod_commands/resource_report.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/terminal/text.h"
#include "resources/cpu_set.h"
#include "resources/requirements.h"
#include "resources/shares.h"

namespace plimsoll::cli {
namespace {

std::string Shares(int64_t shares) {
  return absl::StrCat(shares, " shares");
}

std::string Quota(int64_t quota, int64_t period) {
  if (quota <= 0) return "no limit";
  const int64_t milli = resources::QuotaToMilliCpu(quota, static_cast<uint64_t>(period));
  return absl::StrCat(quota, "/", period, " us (", milli, "m)");
}

std::string Bytes(int64_t bytes) {
  return bytes <= 0 ? "no limit" : HumanBytes(static_cast<uint64_t>(bytes));
}

// cgroup v2 holds a weight. Shares that come back from it are rounded.
bool SameShares(int64_t asked, int64_t held) {
  return asked == held ||
         (asked > 0 && held > 0 &&
          resources::MayBeReported(static_cast<uint64_t>(held), static_cast<uint64_t>(asked)));
}

bool SameCpus(const std::string& a, const std::string& b) {
  const auto x = resources::CpuSet::Parse(a);
  const auto y = resources::CpuSet::Parse(b);
  return x.ok() && y.ok() && *x == *y;
}

std::string Wanted(const cri::KubernetesResources& asked, bool limit, const std::string& name) {
  const auto& list = limit ? asked.limits() : asked.requests();
  const auto it = list.find(name);
  return it == list.end() ? "" : it->second.string();
}

constexpr char kNoLimit[] = "no limit";
constexpr char kScore[] = "oom score adjustment";

// The order of DescribeResources; all sizes of huge pages share one place.
size_t PlaceOf(absl::string_view resource) {
  constexpr const char* kOrder[] = {"cpu shares",  "cpu quota",    "cpuset cpus",
                                    "cpuset mems", "memory limit", "memory and swap limit",
                                    "hugepages"};
  size_t place = 0;
  for (const char* name : kOrder) {
    if (absl::StartsWith(resource, name)) return place;
    ++place;
  }
  return place;
}

}  // namespace

std::vector<ResourceLine> CompareResources(const cri::ContainerConfig& config,
                                           const cri::ContainerResources& held) {
  std::vector<ResourceLine> lines;
  const cri::LinuxContainerResources& sent = config.linux().resources();
  const cri::LinuxContainerResources& now = held.linux();
  const cri::KubernetesResources& asked = config.kubernetes_resources();
  const auto add = [&](std::string resource, std::string wanted, std::string what,
                       std::string kernel, bool same) {
    if (!held.has_linux()) {
      kernel = "-";
      same = true;
    }
    lines.push_back(
        {std::move(resource), std::move(wanted), std::move(what), std::move(kernel), !same});
  };
  add("cpu request", Wanted(asked, false, "cpu"), Shares(sent.cpu_shares()),
      Shares(now.cpu_shares()), SameShares(sent.cpu_shares(), now.cpu_shares()));
  if (sent.cpu_quota() > 0) {
    add("cpu limit", Wanted(asked, true, "cpu"), Quota(sent.cpu_quota(), sent.cpu_period()),
        Quota(now.cpu_quota(), now.cpu_period()),
        sent.cpu_quota() == now.cpu_quota() && sent.cpu_period() == now.cpu_period());
  }
  if (!sent.cpuset_cpus().empty()) {
    add("cpuset", sent.cpuset_cpus(), sent.cpuset_cpus(), now.cpuset_cpus(),
        SameCpus(sent.cpuset_cpus(), now.cpuset_cpus()));
  }
  if (sent.memory_limit_in_bytes() > 0) {
    // The kernel rounds down to whole pages.
    const int64_t difference = sent.memory_limit_in_bytes() - now.memory_limit_in_bytes();
    add("memory limit", Wanted(asked, true, "memory"), Bytes(sent.memory_limit_in_bytes()),
        Bytes(now.memory_limit_in_bytes()), difference >= 0 && difference < 65536);
  }
  for (const cri::HugepageLimit& limit : sent.hugepage_limits()) {
    const auto it = std::find_if(
        now.hugepage_limits().begin(), now.hugepage_limits().end(),
        [&](const cri::HugepageLimit& other) { return other.page_size() == limit.page_size(); });
    const bool found = it != now.hugepage_limits().end();
    add(absl::StrCat("hugepages ", limit.page_size()), HumanBytes(limit.limit()),
        HumanBytes(limit.limit()), found ? HumanBytes(it->limit()) : "no limit",
        found && it->limit() == limit.limit());
  }
  add("oom score", "", absl::StrCat(sent.oom_score_adj()), absl::StrCat(now.oom_score_adj()),
      sent.oom_score_adj() == now.oom_score_adj());
  return lines;
}

std::vector<std::pair<std::string, std::string>> DescribeResources(
    const cri::LinuxContainerResources& resources) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (resources.cpu_shares() > 0)
    lines.emplace_back("cpu shares", absl::StrCat(resources.cpu_shares()));
  if (resources.cpu_quota() > 0) {
    lines.emplace_back("cpu quota", Quota(resources.cpu_quota(), resources.cpu_period()));
  }
  if (!resources.cpuset_cpus().empty()) lines.emplace_back("cpuset cpus", resources.cpuset_cpus());
  if (!resources.cpuset_mems().empty()) lines.emplace_back("cpuset mems", resources.cpuset_mems());
  if (resources.memory_limit_in_bytes() > 0) {
    lines.emplace_back("memory limit", Bytes(resources.memory_limit_in_bytes()));
  }
  if (resources.memory_swap_limit_in_bytes() > 0) {
    lines.emplace_back("memory and swap limit", Bytes(resources.memory_swap_limit_in_bytes()));
  }
  for (const cri::HugepageLimit& limit : resources.hugepage_limits()) {
    lines.emplace_back(absl::StrCat("hugepages ", limit.page_size()), HumanBytes(limit.limit()));
  }
  lines.emplace_back(kScore, absl::StrCat(resources.oom_score_adj()));
  return lines;
}

std::optional<PodResources> PodResourcesOf(const cri::PodSandboxStatusResponse& response) {
  const auto info = response.info().find("resources");
  if (info == response.info().end()) return std::nullopt;
  const auto json = nlohmann::json::parse(info->second, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("asked") || !json.contains("held")) return std::nullopt;
  google::protobuf::util::JsonParseOptions newer;
  newer.ignore_unknown_fields = true;
  PodResources resources;
  const auto asked =
      google::protobuf::util::JsonStringToMessage(json["asked"].dump(), &resources.asked, newer);
  const auto held =
      google::protobuf::util::JsonStringToMessage(json["held"].dump(), &resources.held, newer);
  if (!asked.ok() || !held.ok()) return std::nullopt;
  return resources;
}

std::vector<std::pair<std::string, std::string>> DescribePodResources(
    const PodResources& resources) {
  std::vector<std::pair<std::string, std::string>> lines;
  const cri::LinuxContainerResources& asked = resources.asked;
  for (const ResourceChange& each : ComparePods(asked, resources.held)) {
    const bool is_asked = each.before != kNoLimit;
    const bool same = each.resource == "cpu shares"
                          ? SameShares(asked.cpu_shares(), resources.held.cpu_shares())
                          : each.before == each.now;
    lines.emplace_back(each.resource, is_asked && !same
                                          ? absl::StrCat(each.now, ", asked for ", each.before)
                                          : each.now);
  }
  return lines;
}

std::vector<ResourceChange> CompareStates(const cri::LinuxContainerResources& before,
                                          const cri::LinuxContainerResources& after) {
  std::vector<ResourceChange> changes;
  for (const auto& [name, value] : DescribeResources(after)) {
    changes.push_back({name, kNoLimit, value});
  }
  for (const auto& [name, value] : DescribeResources(before)) {
    const auto same =
        std::find_if(changes.begin(), changes.end(),
                     [&, name = name](const auto& change) { return change.resource == name; });
    if (same != changes.end()) {
      same->before = value;
    } else {
      changes.push_back({name, value, kNoLimit});
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
    return PlaceOf(a.resource) < PlaceOf(b.resource);
  });
  return changes;
}

std::vector<ResourceChange> ComparePods(const cri::LinuxContainerResources& before,
                                        const cri::LinuxContainerResources& after) {
  std::vector<ResourceChange> changes = CompareStates(before, after);
  std::erase_if(changes, [](const auto& change) { return change.resource == kScore; });
  return changes;
}

}  // namespace plimsoll::cli
