#include "qos/oom.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "linux/process.h"
#include "linux/process_tree.h"
#include "qos/class_name.h"
#include "qos/oom_scores.h"

namespace plimsoll::qos {
namespace {

constexpr char kFile[] = "oom_score_adj";
// Bounds the looks at a container that can't be frozen and goes on forking.
constexpr int kMostPasses = 100;

}  // namespace

absl::StatusOr<std::unique_ptr<OomType>> OomType::Create(const FsRoot& host,
                                                         linux::CgroupManager* cgroups,
                                                         ContainerFreezer* freezer,
                                                         OomTypeConfig config,
                                                         std::optional<int> lowest) {
  auto type =
      std::unique_ptr<OomType>(new OomType(host, cgroups, freezer, std::move(config), lowest));
  PLIMSOLL_RETURN_IF_ERROR(Annotate(type->Validate(), "class type \"oom\""));
  return type;
}

absl::Status OomType::Validate() const {
  if (config_.classes.empty()) return absl::InvalidArgumentError("it has no classes");
  for (const auto& [class_name, value] : config_.classes) {
    PLIMSOLL_RETURN_IF_ERROR(ValidateName("class", class_name));
    if (value >= -1000 && value <= 1000) continue;
    return absl::InvalidArgumentError(absl::StrCat("class \"", class_name, "\": oom_score_adj ",
                                                   value, " is not in -1000 to 1000"));
  }
  std::vector<std::string> named;
  if (!config_.common.default_class.empty()) named.push_back(config_.common.default_class);
  for (const auto& [class_name, unused] : config_.common.capacity) named.push_back(class_name);
  for (const std::string& class_name : named) {
    if (config_.classes.contains(class_name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(NoSuchClass(class_name).message(), " (named as default, or with a capacity)"));
  }
  return absl::OkStatus();
}

absl::Status OomType::NoSuchClass(absl::string_view class_name) const {
  std::vector<std::string> names;
  for (const auto& [each, unused] : config_.classes) names.push_back(each);
  return absl::NotFoundError(absl::StrCat("there is no oom class \"", class_name,
                                          "\"; there are: ", absl::StrJoin(names, ", ")));
}

int OomType::Clamp(int value) const {
  return lowest_ ? std::max(value, *lowest_) : value;
}

int OomType::Underlying(const Target& target) const {
  int value = 0;
  if (target.underlying != nullptr) {
    const std::optional<std::string> asked = target.underlying(kFile);
    if (asked && !absl::SimpleAtoi(*asked, &value)) value = 0;
  }
  return Clamp(std::clamp(value, -1000, 1000));
}

std::vector<ClassInfo> OomType::classes() const {
  std::vector<ClassInfo> classes;
  for (const auto& [class_name, value] : config_.classes) {
    const auto capacity = config_.common.capacity.find(class_name);
    std::string meaning = absl::StrCat("oom_score_adj ", Clamp(value));
    if (Clamp(value) != value) absl::StrAppend(&meaning, " instead of ", value);
    classes.push_back({.name = class_name,
                       .capacity = capacity == config_.common.capacity.end() ? 0 : capacity->second,
                       .meaning = std::move(meaning)});
  }
  return classes;
}

std::vector<std::string> OomType::warnings() const {
  std::vector<std::string> lines = freezer_.Troubles();
  for (const auto& [class_name, value] : config_.classes) {
    if (Clamp(value) == value) continue;
    lines.push_back(absl::StrCat("oom class ", class_name, ": oom_score_adj is ", Clamp(value),
                                 " instead of ", value,
                                 ", because it can't be lowered here (no CAP_SYS_RESOURCE, or "
                                 "restrict_oom_score_adj is set)"));
  }
  return lines;
}

std::vector<std::string> OomType::OwnedFiles(absl::string_view class_name) const {
  if (!config_.classes.contains(std::string(class_name))) return {};
  return {kFile};
}

absl::StatusOr<std::vector<pid_t>> OomType::Members(const Target& target, bool* entering) const {
  // In this order: a process inside by the second look was on its way by the first.
  const std::vector<pid_t> coming =
      target.entering == nullptr ? std::vector<pid_t>() : target.entering();
  *entering = !coming.empty();
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<pid_t> pids,
                            cgroups_->Processes(target.cgroup_path, /*recursive=*/true));
  std::set<pid_t> all(pids.begin(), pids.end());
  if (!coming.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto table, linux::ListProcessTable(host_));
    for (const pid_t pid : coming) {
      all.insert(pid);
      for (const auto& each : linux::DescendantsOf(table, pid)) all.insert(each.id.pid);
    }
  }
  return std::vector<pid_t>(all.begin(), all.end());
}

absl::Status OomType::SetAll(const Target& target, int value) {
  // A fork in flight has copied the old value and is in no list yet. Where the container can't be
  // frozen, looks are repeated until no new process is found.
  const ContainerFreezer::Stop stop(&freezer_, target.cgroup_path);
  bool entering = false;
  OomScores scores(host_, [&]() -> absl::StatusOr<std::vector<pid_t>> {
    bool some = false;
    auto members = Members(target, &some);
    entering = entering || some;
    return members;
  });
  absl::Status status;
  for (int i = 0; i < kMostPasses && status.ok(); ++i) {
    const size_t before = scores.changed();
    entering = false;
    status = scores.SetAll(value);
    if ((stop.is_still() && !entering) || (scores.changed() == before && i > 0)) break;
  }
  return status.ok() ? status : AlsoNotSetBack(status, scores.Undo());
}

absl::Status OomType::Assign(const Target& target, absl::string_view /*from*/,
                             absl::string_view to) {
  const auto at = config_.classes.find(std::string(to));
  if (!to.empty() && at == config_.classes.end()) return NoSuchClass(to);
  const int value = to.empty() ? Underlying(target) : Clamp(at->second);
  return Annotate(SetAll(target, value), absl::StrCat("oom class \"", to, "\" for ", target.name));
}

// A program may set scores of its own inside, as some databases do. So the class counts as changed
// only where the init's value differs from it.
absl::Status OomType::Adopt(const Target& target, absl::string_view class_name,
                            const std::vector<std::string>& /*files*/) {
  const auto at = config_.classes.find(std::string(class_name));
  if (at == config_.classes.end()) return NoSuchClass(class_name);
  const absl::StatusOr<int> score = linux::ReadOomScoreAdj(host_, target.init);
  if (absl::IsNotFound(score.status())) return absl::OkStatus();  // it has ended meanwhile
  PLIMSOLL_RETURN_IF_ERROR(score.status());
  return *score == Clamp(at->second) ? absl::OkStatus() : Assign(target, class_name, class_name);
}

absl::Status OomType::Release(const Target& target, absl::string_view class_name) {
  if (class_name.empty()) return absl::OkStatus();
  const absl::Status status = Assign(target, class_name, "");
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<std::string> OomType::Drift(const Target& target,
                                           absl::string_view class_name) const {
  const auto at = config_.classes.find(std::string(class_name));
  if (at == config_.classes.end()) return std::string();
  if (std::string frozen = freezer_.Trouble(target.cgroup_path); !frozen.empty()) return frozen;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pids,
                            cgroups_->Processes(target.cgroup_path, /*recursive=*/true));
  for (const pid_t pid : pids) {
    const auto process = linux::IdentifyProcess(host_, pid);
    if (!process.ok()) continue;  // the process has ended
    const absl::StatusOr<int> score = linux::ReadOomScoreAdj(host_, *process);
    if (absl::IsNotFound(score.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(score.status());
    if (*score == Clamp(at->second)) continue;
    return absl::StrCat("oom_score_adj of process ", pid, " is ", *score, " instead of ",
                        Clamp(at->second));
  }
  return std::string();
}

}  // namespace plimsoll::qos
