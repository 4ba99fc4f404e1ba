// The registry's reports on types, classes and holders.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "qos/registry.h"

namespace plimsoll::qos {

std::string Registry::WhyGone(Level level, const std::string& type,
                              const std::string& class_name) const {
  const ClassType* found = Find(level, type);
  if (found == nullptr) {
    const UnavailableType* one = FindUnavailable(level, type);
    return one == nullptr ? "this class type is not configured any more"
                          : absl::StrCat("this class type can't be had: ", one->reason);
  }
  for (const ClassInfo& info : found->classes()) {
    if (info.name == class_name) return "";
  }
  return "there is no such class any more";
}

std::map<std::string, EffectiveClass> Registry::Effective(const Target& target, bool look) const {
  absl::ReaderMutexLock no_reload(&reload_);
  HeldClasses held;
  {
    absl::MutexLock lock(&mutex_);
    const auto at = entries_.find(target.id);
    if (at == entries_.end()) return {};
    held = at->second.held;
  }
  std::map<std::string, EffectiveClass> effective;
  for (const auto& [name, one] : held) {
    if (one.name.empty()) continue;  // first class not undone: it holds none
    EffectiveClass shown{one.name, one.implicit, ""};
    const ClassType* type = Find(target.level, name);
    if (look || type == nullptr) shown.drift = WhyGone(target.level, name, one.name);
    if (look && shown.drift.empty()) {
      const absl::StatusOr<std::string> drift = type->Drift(target, one.name);
      shown.drift = drift.ok() ? *drift : std::string(drift.status().message());
    }
    effective[name] = std::move(shown);
  }
  return effective;
}

std::vector<std::string> Registry::OwnedFiles(const std::string& id) const {
  absl::ReaderMutexLock no_reload(&reload_);
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> files;
  const auto at = entries_.find(id);
  if (at == entries_.end()) return files;
  for (const auto& [name, held] : at->second.held) {
    const ClassType* type = Find(at->second.level, name);
    if (type == nullptr) continue;
    const std::vector<std::string> some = type->OwnedFiles(held.name);
    files.insert(files.end(), some.begin(), some.end());
  }
  return files;
}

std::vector<std::string> Registry::EntryFiles(const Target& target) const {
  absl::ReaderMutexLock no_reload(&reload_);
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> files;
  const auto at = entries_.find(target.id);
  if (at == entries_.end()) return files;
  for (const auto& [name, held] : at->second.held) {
    const ClassType* type = Find(target.level, name);
    if (type == nullptr) continue;
    if (std::string file = type->EntryFile(target, held.name); !file.empty()) {
      files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<TargetName> Registry::NamesOfHolders(Level level, const std::string& type,
                                                 const std::string& class_name) const {
  std::vector<TargetName> of_class;
  for (const auto& [id, entry] : entries_) {
    const auto held = entry.held.find(type);
    if (entry.level != level || held == entry.held.end()) continue;
    if (held->second.name == class_name) of_class.push_back({id, entry.name});
  }
  std::sort(of_class.begin(), of_class.end(),
            [](const TargetName& a, const TargetName& b) { return a.name < b.name; });
  return of_class;
}

// Adds classes that are held but no longer exist.
void Registry::AddGone(std::vector<TypeReport>* reports) const {
  std::map<std::pair<Level, std::string>, std::vector<std::string>> gone;
  for (const auto& [id, entry] : entries_) {
    for (const auto& [type, one] : entry.held) {
      if (one.name.empty()) continue;
      const std::string why = WhyGone(entry.level, type, one.name);
      if (why.empty()) continue;
      gone[{entry.level, type}].push_back(absl::StrCat(
          entry.name, " holds class \"", one.name, "\" since before the daemon's start: ", why));
    }
  }
  for (auto& [key, lines] : gone) {
    auto at = std::find_if(reports->begin(), reports->end(), [&key = key](const TypeReport& one) {
      return std::pair(one.level, one.name) == key;
    });
    if (at == reports->end()) {
      at = reports->insert(at, TypeReport{.name = key.second, .level = key.first});
    }
    at->warnings.insert(at->warnings.end(), lines.begin(), lines.end());
  }
}

std::vector<TypeReport> Registry::Describe(bool look) const {
  absl::ReaderMutexLock no_reload(&reload_);
  std::vector<TypeReport> reports;
  for (const auto& type : types_) {
    TypeReport report{
        type->name(), type->level(),         type->immutable(), type->default_class(), {},
        {},           type->is_informative()};
    if (look) report.warnings = type->warnings();
    for (ClassInfo& info : type->classes()) report.classes.push_back({std::move(info), {}});
    reports.push_back(std::move(report));
  }
  if (look) {
    for (const UnavailableType& one : unavailable_) {
      reports.push_back({.name = one.name, .level = one.level, .warnings = {one.reason}});
    }
  }
  absl::MutexLock lock(&mutex_);
  for (TypeReport& report : reports) {
    for (ClassUse& use : report.classes) {
      use.holders = NamesOfHolders(report.level, report.name, use.info.name);
    }
  }
  if (look) AddGone(&reports);
  return reports;
}

absl::Status Registry::CheckSource(Level level, const std::string& type,
                                   const std::string& class_name, ClassSource source) {
  absl::ReaderMutexLock no_reload(&reload_);
  const ClassType* found = Find(level, type);
  if (found == nullptr) return absl::OkStatus();
  const std::string name = class_name.empty() ? found->default_class() : class_name;
  absl::Status status = found->CheckSource(name, source);
  if (status.ok() || absl::IsNotFound(status)) return absl::OkStatus();  // Reserve says so
  absl::MutexLock lock(&mutex_);
  return Refuse(type, "annotation", std::move(status));
}

absl::Status Registry::CheckKnown(Level level, const std::string& target_name,
                                  const std::string& type, const std::string& class_name) {
  absl::ReaderMutexLock no_reload(&reload_);
  absl::MutexLock lock(&mutex_);
  PLIMSOLL_ASSIGN_OR_RETURN(const ClassType* const found, Need(level, target_name, type));
  return NeedClass(*found, target_name, class_name).status();
}

absl::Status Registry::RefuseAnnotation(Level level, const std::string& type, absl::Status status) {
  absl::MutexLock lock(&mutex_);
  return Refuse(Has(level, type) ? type : "", "annotation", std::move(status));
}

std::map<std::pair<std::string, std::string>, uint64_t> Registry::Refusals() const {
  absl::MutexLock lock(&mutex_);
  return refusals_;
}

std::vector<Registry::Measurement> Registry::Measure() const {
  absl::ReaderMutexLock no_reload(&reload_);
  std::vector<std::pair<std::string, Entry>> entries;
  {
    absl::MutexLock lock(&mutex_);
    entries.assign(entries_.begin(), entries_.end());
  }
  std::vector<Measurement> all;
  const auto add = [&](const ClassType& type, const std::string& id, const std::string& name) {
    for (const auto& [metric, value] : type.Measure(id, name)) {
      all.push_back({type.name(), id, name, metric, value});
    }
  };
  for (const auto& type : types_) {
    for (const ClassInfo& info : type->classes()) add(*type, "", info.name);
    for (const auto& [id, entry] : entries) {
      const auto held = entry.held.find(type->name());
      if (entry.level == type->level() && held != entry.held.end()) {
        add(*type, id, held->second.name);
      }
    }
  }
  return all;
}

}  // namespace plimsoll::qos
