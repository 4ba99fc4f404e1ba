#include "qos/cgroup_class.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "qos/class_name.h"

namespace plimsoll::qos {
namespace {

constexpr char kIdle[] = "cpu.idle";
constexpr char kWeight[] = "cpu.weight";

bool IsIdle(const std::map<std::string, std::string>* values) {
  if (values == nullptr) return false;
  const auto at = values->find(kIdle);
  return at != values->end() && at->second == "1";
}

}  // namespace

absl::StatusOr<std::unique_ptr<CgroupClassType>> CgroupClassType::Create(
    linux::CgroupManager* cgroups, CgroupTypeConfig config) {
  auto type = std::unique_ptr<CgroupClassType>(new CgroupClassType(cgroups, std::move(config)));
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(type->Validate(), absl::StrCat("class type \"", type->name(), "\"")));
  return type;
}

absl::Status CgroupClassType::Validate() {
  PLIMSOLL_RETURN_IF_ERROR(ValidateName("class type", config_.name));
  for (const char* taken : {"rdt", "blockio", "oom", "pod-qos"}) {
    if (config_.name == taken) return absl::InvalidArgumentError("there is a type of that name");
  }
  if (config_.classes.empty()) return absl::InvalidArgumentError("it has no classes");
  for (auto& [class_name, values] : config_.classes) {
    PLIMSOLL_RETURN_IF_ERROR(ValidateName("class", class_name));
    const std::string where = absl::StrCat("class \"", class_name, "\"");
    for (auto& [file, value] : values) {
      auto canonical = CanonicalCgroupValue(file, value);
      if (!canonical.ok()) return Annotate(canonical.status(), where);
      value = *std::move(canonical);
    }
    if (IsIdle(&values) && values.contains(kWeight)) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": an idle group (cpu.idle 1) has no cpu.weight"));
    }
  }
  std::vector<std::string> named;
  if (!config_.common.default_class.empty()) named.push_back(config_.common.default_class);
  for (const auto& [class_name, unused] : config_.common.capacity) named.push_back(class_name);
  for (const std::string& class_name : named) {
    if (Find(class_name) != nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(NoSuchClass(class_name).message(), " (named as default, or with a capacity)"));
  }
  return absl::OkStatus();
}

const CgroupClassType::Values* CgroupClassType::Find(absl::string_view class_name) const {
  const auto at = config_.classes.find(std::string(class_name));
  return at == config_.classes.end() ? nullptr : &at->second;
}

absl::Status CgroupClassType::NoSuchClass(absl::string_view class_name) const {
  std::vector<std::string> names;
  for (const auto& [each, unused] : config_.classes) names.push_back(each);
  return absl::NotFoundError(absl::StrCat("there is no ", config_.name, " class \"", class_name,
                                          "\"; there are: ", absl::StrJoin(names, ", ")));
}

bool CgroupClassType::SetsNothing() const {
  return absl::c_all_of(config_.classes, [](const auto& each) { return each.second.empty(); });
}

std::string CgroupClassType::unavailable() const {
  if (cgroups_->layout() == linux::CgroupLayout::kV2 || SetsNothing()) return "";
  return absl::StrCat(config_.name,
                      " classes need cgroup v2; this machine has its controllers on cgroup v1");
}

std::vector<std::string> CgroupClassType::MissingControllers() const {
  const std::vector<std::string> there = cgroups_->Controllers();
  std::set<std::string> missing;
  for (const auto& [unused, values] : config_.classes) {
    for (const auto& [file, value] : values) {
      const std::string& controller = FindCgroupFile(file)->controller;
      if (!absl::c_linear_search(there, controller)) missing.insert(controller);
    }
  }
  return {missing.begin(), missing.end()};
}

std::string CgroupClassType::default_class() const {
  return unavailable().empty() ? config_.common.default_class : "";
}

std::vector<ClassInfo> CgroupClassType::classes() const {
  if (!unavailable().empty()) return {};
  std::vector<ClassInfo> classes;
  for (const auto& [class_name, values] : config_.classes) {
    const auto capacity = config_.common.capacity.find(class_name);
    classes.push_back({.name = class_name,
                       .capacity = capacity == config_.common.capacity.end() ? 0 : capacity->second,
                       .meaning = values.empty()
                                      ? "sets nothing"
                                      : absl::StrJoin(values, "; ", absl::PairFormatter(" "))});
  }
  return classes;
}

std::vector<std::string> CgroupClassType::warnings() const {
  if (std::string reason = unavailable(); !reason.empty()) return {std::move(reason)};
  std::vector<std::string> lines;
  for (const std::string& controller : MissingControllers()) {
    lines.push_back(absl::StrCat(config_.name, " classes that set files of controller ", controller,
                                 " can't be assigned: this machine does not have it"));
  }
  return lines;
}

std::vector<std::string> CgroupClassType::OwnedFiles(absl::string_view class_name) const {
  std::vector<std::string> files;
  const Values* values = Find(class_name);
  if (values == nullptr) return files;
  for (const auto& [file, unused] : *values) files.push_back(file);
  if (IsIdle(values)) files.emplace_back(kWeight);
  return files;
}

std::vector<std::string> CgroupClassType::FilesSetBy(absl::string_view class_name) const {
  std::vector<std::string> files = OwnedFiles(class_name);
  if (class_name.empty() || Find(class_name) != nullptr) return files;
  // A class that left the configuration may have set any file of the type.
  for (const auto& [each, unused] : config_.classes) {
    for (std::string& file : OwnedFiles(each)) files.push_back(std::move(file));
  }
  return files;
}

std::vector<FileContent> CgroupClassType::Wanted(const Target& target,
                                                 const std::vector<std::string>& before,
                                                 absl::string_view to) const {
  const Values* values = Find(to);
  const std::vector<std::string> owned = OwnedFiles(to);
  std::vector<FileContent> wanted;
  for (const ControlFile& file : AllowedCgroupFiles()) {
    const bool is_owned = absl::c_linear_search(owned, file.name);
    if (!is_owned && !absl::c_linear_search(before, file.name)) continue;
    FileContent content = {.file = file, .lines = {}};
    if (is_owned && values->contains(file.name)) {
      content.lines = ParseLines(file, values->at(file.name));
    } else if (!is_owned && target.underlying != nullptr) {
      const std::optional<std::string> asked = target.underlying(file.name);
      const auto canonical = CanonicalCgroupValue(file.name, asked.value_or(""));
      if (asked) content.lines = ParseLines(file, canonical.ok() ? *canonical : *asked);
    }
    wanted.push_back(std::move(content));
  }
  if (!IsIdle(values)) return wanted;
  // An idle group refuses a weight, and a group that ceases to be idle gets 100. So the weight is
  // reset before idling begins, which also lets an undo restore it. A group that is idle already
  // has no weight to reset.
  const auto weight = std::find_if(wanted.begin(), wanted.end(), [](const FileContent& content) {
    return content.file.name == kWeight;
  });
  const auto idle = cgroups_->ReadFile(target.cgroup_path, "cpu", kIdle);
  const bool is_idle = idle.ok() && *idle == "1";
  if (is_idle) {
    wanted.erase(weight);
  } else {
    std::rotate(wanted.begin(), weight, weight + 1);
  }
  return wanted;
}

absl::Status CgroupClassType::Move(const Target& target, const std::vector<std::string>& before,
                                   absl::string_view to) {
  const absl::Status status = ApplyFiles(*cgroups_, target.cgroup_path, Wanted(target, before, to));
  return Annotate(status, absl::StrCat(config_.name, " class \"", to, "\" for ", target.name));
}

absl::Status CgroupClassType::Assign(const Target& target, absl::string_view from,
                                     absl::string_view to) {
  if (const std::string reason = unavailable(); !reason.empty()) {
    return absl::FailedPreconditionError(reason);
  }
  if (!to.empty() && Find(to) == nullptr) return NoSuchClass(to);
  return Move(target, FilesSetBy(from), to);
}

absl::Status CgroupClassType::Adopt(const Target& target, absl::string_view class_name,
                                    const std::vector<std::string>& files) {
  const absl::Status status = Move(target, files, class_name);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;  // the target has ended meanwhile
}

absl::Status CgroupClassType::Release(const Target& target, absl::string_view class_name) {
  if (!unavailable().empty() || class_name.empty()) return absl::OkStatus();
  const absl::Status status = Move(target, FilesSetBy(class_name), "");
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<std::string> CgroupClassType::Drift(const Target& target,
                                                   absl::string_view class_name) const {
  if (!unavailable().empty() || Find(class_name) == nullptr) return std::string();
  std::vector<FileContent> wanted = Wanted(target, FilesSetBy(class_name), class_name);
  if (IsIdle(Find(class_name))) {
    std::erase_if(wanted, [](const FileContent& each) { return each.file.name == kWeight; });
  }
  return CompareFiles(*cgroups_, target.cgroup_path, wanted);
}

}  // namespace plimsoll::qos
