#include "qos/blockio.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "qos/blockio_machine.h"

namespace plimsoll::qos {
namespace {

std::string LimitName(Level level) {
  return level == Level::kPod ? "pod" : "container";
}

absl::Status NoSuchClass(const BlockioConfig& config, absl::string_view name) {
  std::vector<std::string> names;
  for (const BlockioClass& each : config.classes) names.push_back(each.name);
  return absl::NotFoundError(absl::StrCat("there is no blockio class \"", name, "\"; there are: ",
                                          names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

// INVALID_ARGUMENT when default or capacity name a class that the file lacks.
absl::Status CheckOptions(const BlockioOptions& options, const BlockioConfig& config) {
  std::vector<std::string> names;
  if (!options.default_class.empty()) names.push_back(options.default_class);
  for (const auto& [name, unused] : options.capacity) names.push_back(name);
  for (const std::string& name : names) {
    if (config.Find(name) != nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(options.config_file, ": ",
                                                   NoSuchClass(config, name).message(),
                                                   " (named as default, or with a capacity)"));
  }
  return absl::OkStatus();
}

}  // namespace

// A second reading of the file, beside the one in force.
class BlockioType::Reload : public PendingReload {
 public:
  Reload(BlockioType* type, StatePtr before, StatePtr after)
      : type_(type), before_(std::move(before)), after_(std::move(after)) {}

  std::vector<std::string> class_names() const override {
    std::vector<std::string> names;
    for (const BlockioClass& each : after_->config.classes) names.push_back(each.name);
    return names;
  }

  std::vector<std::string> changes() const override {
    std::vector<std::string> lines;
    for (const auto& [name, plan] : before_->plans) {
      const auto now = after_->plans.find(name);
      if (now == after_->plans.end()) {
        lines.push_back(absl::StrCat("class ", name, " goes"));
      } else if (now->second.Meaning() != plan.Meaning()) {
        lines.push_back(
            absl::StrCat("class ", name, ": ", plan.Meaning(), " becomes ", now->second.Meaning()));
      }
    }
    for (const auto& [name, plan] : after_->plans) {
      if (before_->plans.contains(name)) continue;
      lines.push_back(absl::StrCat("class ", name, " comes: ", plan.Meaning()));
    }
    return lines;
  }

  std::vector<std::string> warnings() const override {
    return type_->WarningsOf(after_->config, after_->machine);
  }
  std::vector<std::string> put_right() const override { return put_right_; }

  absl::Status Commit(const Holders& holders) override {
    std::vector<std::string> wrong = WhatIsWrong(holders);
    PLIMSOLL_RETURN_IF_ERROR(type_->Replace(before_, after_, holders));
    put_right_ = std::move(wrong);
    return absl::OkStatus();
  }
  absl::Status Revert(const Holders& holders) override {
    return type_->Replace(after_, before_, holders);
  }

 private:
  // Differences between the kernel and the classes of holders whose class stays as it is.
  std::vector<std::string> WhatIsWrong(const Holders& holders) const {
    std::vector<std::string> lines;
    for (const auto& [target, name] : holders) {
      const auto before = before_->plans.find(name);
      const auto after = after_->plans.find(name);
      if (before == before_->plans.end() || after == after_->plans.end() ||
          before->second.Meaning() != after->second.Meaning()) {
        continue;
      }
      const auto drift = type_->Drift(target, name);
      if (!drift.ok() || drift->empty()) continue;
      lines.push_back(
          absl::StrCat("class ", name, " of ", target.name, " is put right (found: ", *drift, ")"));
    }
    return lines;
  }

  BlockioType* const type_;
  const StatePtr before_;
  const StatePtr after_;
  std::vector<std::string> put_right_;
};

BlockioType::BlockioType(FsRoot host, linux::CgroupManager* cgroups, BlockioOptions options)
    : host_(std::move(host)), cgroups_(cgroups), options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<BlockioType>> BlockioType::Create(const FsRoot& host,
                                                                 linux::CgroupManager* cgroups,
                                                                 BlockioOptions options) {
  auto type = std::unique_ptr<BlockioType>(new BlockioType(host, cgroups, std::move(options)));
  PLIMSOLL_ASSIGN_OR_RETURN(StatePtr state, type->LoadState());
  absl::MutexLock lock(&type->mutex_);
  type->state_ = std::move(state);
  return type;
}

absl::StatusOr<BlockioMachine> BlockioType::LookAtMachine() const {
  return LookAtBlockioMachine(host_, *cgroups_);
}

std::string BlockioType::unavailable() const {
  const bool v2 = cgroups_->layout() == linux::CgroupLayout::kV2;
  if (!v2 && level() == Level::kPod) {
    return "blockio classes of pods need cgroup v2: on v1 a group's throttles don't bind the "
           "groups below it";
  }
  const char* controller = v2 ? "io" : "blkio";
  if (absl::c_linear_search(cgroups_->Controllers(), controller)) return "";
  return absl::StrCat("blockio classes need the cgroup controller \"", controller,
                      "\", and this machine lacks it");
}

BlockioType::StatePtr BlockioType::Compile(BlockioConfig config, BlockioMachine machine) {
  auto state = std::make_shared<State>(State{std::move(config), std::move(machine), {}});
  for (const BlockioClass& each : state->config.classes) {
    state->plans[each.name] = PlanBlockio(each, state->machine);
  }
  return state;
}

absl::StatusOr<BlockioType::StatePtr> BlockioType::LoadState() const {
  PLIMSOLL_ASSIGN_OR_RETURN(BlockioConfig config,
                            LoadBlockioConfig(host_, options_.config_file,
                                              cgroups_->layout() == linux::CgroupLayout::kV2));
  PLIMSOLL_RETURN_IF_ERROR(CheckOptions(options_, config));
  PLIMSOLL_ASSIGN_OR_RETURN(BlockioMachine machine, LookAtMachine());
  return Compile(std::move(config), std::move(machine));
}

BlockioType::StatePtr BlockioType::state() const {
  absl::MutexLock lock(&mutex_);
  return state_;
}

std::string BlockioType::default_class() const {
  return unavailable().empty() ? options_.default_class : "";
}

std::vector<ClassInfo> BlockioType::classes() const {
  if (!unavailable().empty()) return {};
  const StatePtr now = state();
  std::vector<ClassInfo> classes;
  for (const BlockioClass& each : now->config.classes) {
    const auto capacity = options_.capacity.find(each.name);
    classes.push_back({.name = each.name,
                       .capacity = capacity == options_.capacity.end() ? 0 : capacity->second,
                       .meaning = now->plans.at(each.name).Meaning()});
  }
  return classes;
}

std::vector<std::string> BlockioType::warnings() const {
  if (std::string reason = unavailable(); !reason.empty()) return {std::move(reason)};
  const StatePtr now = state();
  // Schedulers change without notice, so the machine is read again.
  const auto machine = LookAtMachine();
  return WarningsOf(now->config, machine.ok() ? *machine : now->machine);
}

std::vector<std::string> BlockioType::WarningsOf(const BlockioConfig& config,
                                                 const BlockioMachine& machine) const {
  std::vector<std::string> lines;
  // Pods' type reads the same file: only the containers' type reports its warnings.
  if (level() == Level::kContainer) lines = config.warnings;
  for (const BlockioClass& each : config.classes) {
    for (const std::string& warning : PlanBlockio(each, machine).warnings) {
      lines.push_back(
          absl::StrCat("blockio class ", each.name, " of a ", LimitName(level()), ": ", warning));
    }
  }
  return lines;
}

std::vector<std::string> BlockioType::OwnedFiles(absl::string_view class_name) const {
  const StatePtr now = state();
  const BlockioClass* definition = now->config.Find(class_name);
  std::vector<std::string> names;
  for (const FileContent& content : BlockioFiles(/*v2=*/true)) {
    if (definition != nullptr && OwnsFile(*definition, content.file.name)) {
      names.push_back(content.file.name);
    }
  }
  return names;
}

std::vector<FileContent> BlockioType::Wanted(const Target& target, const State& before,
                                             absl::string_view from, const State& after,
                                             absl::string_view to) const {
  const BlockioClass* old_class = before.config.Find(from);
  const BlockioClass* new_class = after.config.Find(to);
  std::vector<FileContent> wanted;
  for (FileContent& content : BlockioFiles(after.machine.v2)) {
    const std::string& file = content.file.name;
    const bool owned = new_class != nullptr && OwnsFile(*new_class, file);
    // The old class may be in no file any more. It may have set any file.
    const bool was_owned = old_class != nullptr ? OwnsFile(*old_class, file) : !from.empty();
    if (owned) {
      content.lines = LinesOf(after.plans.at(new_class->name), after.machine, file);
    } else if (was_owned && target.underlying != nullptr) {
      const std::optional<std::string> asked = target.underlying(file);
      if (asked) content.lines = ParseLines(content.file, *asked);
    }
    if (owned || was_owned) wanted.push_back(std::move(content));
  }
  return wanted;
}

absl::Status BlockioType::Move(const Target& target, const State& before, absl::string_view from,
                               const State& after, absl::string_view to) {
  const absl::Status status =
      ApplyFiles(*cgroups_, target.cgroup_path, Wanted(target, before, from, after, to));
  return Annotate(status, absl::StrCat("blockio class \"", to, "\" for ", target.name));
}

absl::Status BlockioType::Assign(const Target& target, absl::string_view from,
                                 absl::string_view to) {
  if (const std::string reason = unavailable(); !reason.empty()) {
    return absl::FailedPreconditionError(reason);
  }
  absl::ReaderMutexLock lock(&definitions_);
  const StatePtr now = state();
  if (!to.empty() && now->config.Find(to) == nullptr) return NoSuchClass(now->config, to);
  return Move(target, *now, from, *now, to);
}

absl::Status BlockioType::Adopt(const Target& target, absl::string_view class_name,
                                const std::vector<std::string>& files) {
  absl::ReaderMutexLock lock(&definitions_);
  const StatePtr now = state();
  const std::vector<std::string> owned = OwnedFiles(class_name);
  const bool sets_less = absl::c_any_of(
      files, [&](const std::string& file) { return !absl::c_linear_search(owned, file); });
  // A class that is in no file may have set any file.
  const absl::string_view from = sets_less ? absl::string_view(" ") : class_name;
  const absl::Status status = Move(target, *now, from, *now, class_name);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;  // the target has ended meanwhile
}

absl::Status BlockioType::Release(const Target& target, absl::string_view class_name) {
  if (!unavailable().empty() || class_name.empty()) return absl::OkStatus();
  absl::ReaderMutexLock lock(&definitions_);
  const StatePtr now = state();
  const absl::Status status = Move(target, *now, class_name, *now, "");
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<std::string> BlockioType::Drift(const Target& target,
                                               absl::string_view class_name) const {
  const StatePtr now = state();
  if (!unavailable().empty() || now->config.Find(class_name) == nullptr) return std::string();
  return CompareFiles(*cgroups_, target.cgroup_path,
                      Wanted(target, *now, class_name, *now, class_name));
}

absl::Status BlockioType::Replace(const StatePtr& before, const StatePtr& after,
                                  const Holders& holders) {
  absl::MutexLock lock(&definitions_);
  absl::Status status;
  size_t done = 0;
  for (; done < holders.size(); ++done) {
    const auto& [target, class_name] = holders[done];
    status = Move(target, *before, class_name, *after, class_name);
    if (!status.ok() && !absl::IsNotFound(status)) break;
    status = absl::OkStatus();
  }
  if (!status.ok()) {
    while (done-- > 0) {
      const auto& [target, class_name] = holders[done];
      status = AlsoNotSetBack(status, Move(target, *after, class_name, *before, class_name));
    }
    return status;
  }
  absl::MutexLock state_lock(&mutex_);
  state_ = after;
  return status;
}

absl::StatusOr<std::unique_ptr<PendingReload>> BlockioType::PrepareReload() {
  PLIMSOLL_ASSIGN_OR_RETURN(StatePtr after, LoadState());
  return std::make_unique<Reload>(this, state(), std::move(after));
}

absl::Status BlockioType::Refresh(const Holders& holders) {
  PLIMSOLL_ASSIGN_OR_RETURN(BlockioMachine machine, LookAtMachine());
  absl::MutexLock lock(&definitions_);
  const StatePtr before = state();
  const StatePtr after = Compile(before->config, std::move(machine));
  {
    absl::MutexLock state_lock(&mutex_);
    state_ = after;
  }
  absl::Status first;
  for (const auto& [target, class_name] : holders) {
    const absl::Status status = Move(target, *before, class_name, *after, class_name);
    if (!absl::IsNotFound(status)) first = FirstError(first, status);
  }
  return first;
}

}  // namespace plimsoll::qos
