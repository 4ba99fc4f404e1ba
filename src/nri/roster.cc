#include "nri/roster.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plimsoll::nri {
namespace {

constexpr size_t kMostConnections = 64;
constexpr size_t kMostNameless = 16;

bool IsLiving(const PluginConnection& plugin) {
  return !plugin.is_closed();
}

// True if it is the one that `wanted` names: a full or a base name.
bool IsIt(const PluginConnection& plugin, const std::string& wanted) {
  const std::optional<PluginName> name = plugin.plugin_name();
  return name.has_value() && IsNamed(*name, wanted);
}

bool IsReady(const PluginConnection& plugin) {
  return IsLiving(plugin) && plugin.step() == Step::kReady;
}

}  // namespace

Roster::Roster(const NriSettings& config) : config_(config) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, policy] : config_.policies) {
    if (policy.Over(config_.default_policy).required) expected_[name];
  }
  ChangedLocked();
}

bool Roster::IsRequired(const std::string& name) const {
  const auto policy = config_.policies.find(name);
  if (policy != config_.policies.end()) {
    return policy->second.Over(config_.default_policy).required;
  }
  const auto parsed = ParsePluginName(name);
  return parsed.ok() && PolicyOf(config_, *parsed).required;
}

bool Roster::IsCovered(const std::string& name) const {
  return absl::c_any_of(expected_, [&name](const auto& other) {
    const auto parsed = ParsePluginName(other.first);
    return other.first != name && parsed.ok() && parsed->base == name;
  });
}

absl::Status Roster::CheckRoom() const {
  absl::MutexLock lock(&mutex_);
  const auto nameless =
      absl::c_count_if(all_, [](const auto& plugin) { return plugin->step() == Step::kNew; });
  if (all_.size() < kMostConnections && static_cast<size_t>(nameless) < kMostNameless) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "there are ", all_.size(), " connections of plugins, ", nameless,
      " of them not registered; at most ", kMostConnections, " and ", kMostNameless, " may be"));
}

void Roster::Add(std::shared_ptr<PluginConnection> plugin) {
  absl::MutexLock lock(&mutex_);
  all_.push_back(std::move(plugin));
  ChangedLocked();
}

void Roster::Remove(const PluginConnection* plugin) {
  std::shared_ptr<PluginConnection> last;  // released after the lock
  absl::MutexLock lock(&mutex_);
  const auto found = absl::c_find_if(all_, [&](const auto& p) { return p.get() == plugin; });
  if (found == all_.end()) return;
  last = std::move(*found);
  all_.erase(found);
  ChangedLocked();
}

absl::Status Roster::Register(PluginConnection& plugin, const PluginName& name,
                              const std::string& nri_version) {
  absl::MutexLock lock(&mutex_);
  for (const auto& other : all_) {
    if (other.get() == &plugin || !IsLiving(*other) || other->plugin_name() != name) continue;
    return absl::AlreadyExistsError(absl::StrCat("plugin ", name.Full(),
                                                 " is connected already, as process ", other->pid(),
                                                 ": stop that one first"));
  }
  const auto expected = expected_.find(name.Full());
  if (expected != expected_.end() && expected->second.pre_installed && !plugin.is_pre_installed()) {
    return absl::AlreadyExistsError(absl::StrCat(
        "plugin ", name.Full(), " is one that plimsolld starts itself: choose another name"));
  }
  const absl::Status named =
      plugin.SetName(name, PolicyOf(config_, name), CountsOfLocked(name), nri_version);
  ChangedLocked();
  return named;
}

void Roster::ExpectPreInstalled(const PluginName& name) {
  absl::MutexLock lock(&mutex_);
  expected_[name.Full()].pre_installed = true;
  ChangedLocked();
}

void Roster::CountRestart(const PluginName& name) {
  absl::MutexLock lock(&mutex_);
  ++expected_[name.Full()].restarts;
}

void Roster::Changed() {
  absl::MutexLock lock(&mutex_);
  ChangedLocked();
}

void Roster::ChangedLocked() {
  const auto registered =
      absl::c_count_if(all_, [](const auto& plugin) { return plugin->step() != Step::kNew; });
  registered_ = static_cast<size_t>(registered);
  // A validator that misses a plugin must be asked even where there is none. A pod's annotation may
  // name such plugins, too.
  bool required = config_.validator != ValidatorConfig();
  for (const auto& [name, expected] : expected_) required |= IsRequired(name);
  active_ = registered > 0 || required;
}

PluginList Roster::All() const {
  absl::MutexLock lock(&mutex_);
  return all_;
}

PluginList Roster::Ready() const {
  PluginList ready;
  {
    absl::MutexLock lock(&mutex_);
    absl::c_copy_if(all_, std::back_inserter(ready),
                    [](const auto& plugin) { return IsReady(*plugin); });
  }
  absl::c_sort(ready, [](const auto& a, const auto& b) { return a->name() < b->name(); });
  return ready;
}

std::vector<std::string> Roster::MissingLocked() const {
  std::vector<std::string> missing;
  for (const auto& [name, expected] : expected_) {
    if (!IsRequired(name) || IsCovered(name)) continue;
    const bool there = absl::c_any_of(all_, [&name = name](const auto& plugin) {
      return IsReady(*plugin) && IsIt(*plugin, name);
    });
    if (!there) missing.push_back(absl::StrCat("\"", name, "\""));
  }
  return missing;
}

absl::Status Roster::CheckRequired() const {
  absl::MutexLock lock(&mutex_);
  const std::vector<std::string> missing = MissingLocked();
  if (missing.empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "required NRI ", missing.size() == 1 ? "plugin " : "plugins ", absl::StrJoin(missing, ", "),
      missing.size() == 1 ? " is" : " are",
      " not connected: start what is missing, or don't require it in plimsolld's configuration "
      "(nri.plugins)"));
}

std::shared_ptr<PluginCounts> Roster::CountsOf(const PluginName& name) {
  absl::MutexLock lock(&mutex_);
  return CountsOfLocked(name);
}

std::shared_ptr<PluginCounts> Roster::CountsOfConnected(const std::string& name) const {
  absl::MutexLock lock(&mutex_);
  const auto found = absl::c_find_if(
      all_, [&name](const auto& plugin) { return IsLiving(*plugin) && plugin->name() == name; });
  return found == all_.end() ? nullptr : (*found)->counts();
}

std::shared_ptr<PluginCounts> Roster::CountsOfLocked(const PluginName& name) {
  for (const std::string& key : {name.Full(), name.base}) {
    const auto found = expected_.find(key);
    if (found != expected_.end()) return found->second.counts;
  }
  return std::make_shared<PluginCounts>();
}

std::vector<PluginReport> Roster::Report() const {
  absl::MutexLock lock(&mutex_);
  std::vector<PluginReport> reports;
  for (const auto& plugin : all_) {
    const std::optional<PluginName> name = plugin->plugin_name();
    if (!name.has_value() || !IsLiving(*plugin)) continue;
    PluginReport report;
    report.name = name->Full();
    report.required = PolicyOf(config_, *name).required;
    plugin->Fill(&report);
    plugin->counts()->Fill(&report);
    if (auto found = expected_.find(report.name); found != expected_.end()) {
      report.restarts = found->second.restarts;
    }
    reports.push_back(std::move(report));
  }
  for (const auto& [name, expected] : expected_) {
    const bool there = absl::c_any_of(all_, [&name = name](const auto& plugin) {
      return IsLiving(*plugin) && IsIt(*plugin, name);
    });
    if (there || IsCovered(name)) continue;
    PluginReport report;
    report.name = name;
    report.required = IsRequired(name);
    report.pre_installed = expected.pre_installed;
    report.restarts = expected.restarts;
    expected.counts->Fill(&report);
    reports.push_back(std::move(report));
  }
  absl::c_sort(reports, [](const auto& a, const auto& b) { return a.name < b.name; });
  return reports;
}

}  // namespace plimsoll::nri
