#include "systemd/cgroups.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "linux/cgroup/line_files.h"
#include "linux/cgroup/tree.h"
#include "systemd/unit_name.h"

namespace plimsoll::systemd {
namespace {

constexpr char kOomGroup[] = "memory.oom.group";
constexpr char kBfqWeight[] = "io.bfq.weight";
constexpr char kDefaultKey[] = "default";
constexpr char kNoWeights[] = "default 100\n";
// The first version with a property for memory.oom.group: OOMPolicy of scopes. Older ones write 0
// for each unit.
constexpr int kKnowsOomPolicy = 253;
constexpr int kTries = 3;
// The init of a PID namespace that a pod's containers share. It ends on SIGTERM, and the kernel
// then kills the containers: systemd-shutdown ends it after them.
constexpr char kPauseScope[] = "plimsoll-pause-";
// At the machine's shutdown systemd ends a scope's processes by SIGTERM, and by SIGKILL after this
// many microseconds: Kubernetes' default grace period. Its own default is 90 s, which each init
// without a handler would take.
constexpr uint64_t kStopTimeoutUs = 30'000'000;

// The ControlFiles that Apply writes for `settings`.
std::vector<std::string> FilesOf(const linux::CgroupSettings& settings) {
  std::vector<std::string> files;
  if (settings.cpu_shares) files.emplace_back("cpu.weight");
  if (settings.cpu_quota_us || settings.cpu_period_us) files.emplace_back("cpu.max");
  if (settings.cpuset_cpus) files.emplace_back("cpuset.cpus");
  if (settings.cpuset_mems) files.emplace_back("cpuset.mems");
  if (settings.memory_limit_bytes) files.emplace_back("memory.max");
  if (settings.memory_swap_limit_bytes) files.emplace_back("memory.swap.max");
  if (settings.pids_limit) files.emplace_back("pids.max");
  for (const auto& [file, value] : settings.unified) {
    if (IsControlFile(file)) files.push_back(file);
  }
  return files;
}

// All files that Apply writes. systemd isn't told of those outside ControlFiles, but a failure sets
// them back too.
std::vector<std::string> AllFilesOf(const linux::CgroupSettings& settings) {
  std::vector<std::string> files = FilesOf(settings);
  for (const auto& [file, value] : settings.unified) {
    if (!IsControlFile(file)) files.push_back(file);
  }
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    files.push_back(absl::StrCat("hugetlb.", size, ".max"));
  }
  return files;
}

std::map<std::string, std::string> LinesOf(absl::string_view text) {
  std::map<std::string, std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(absl::StripAsciiWhitespace(line), absl::MaxSplits(' ', 1));
    // "100" alone is "default 100".
    const bool alone = parts.second.empty();
    lines[alone ? kDefaultKey : std::string(parts.first)] =
        std::string(alone ? parts.first : parts.second);
  }
  return lines;
}

// The writes, one by one, that turn a file's `now` into `wanted`. The default comes first, since
// BFQ forgets the weights of all disks with it.
std::vector<std::string> Writes(const std::string& file, const std::string& now,
                                const std::string& wanted) {
  if (now == wanted) return {};
  const std::optional<absl::string_view> reset = linux::LineReset(file);
  if (!reset.has_value()) return {wanted};
  std::vector<std::string> writes;
  std::map<std::string, std::string> there = LinesOf(now);
  std::map<std::string, std::string> asked = LinesOf(wanted);
  const auto fallback = asked.extract(kDefaultKey);
  const auto present = there.extract(kDefaultKey);
  const bool anew = !fallback.empty() && (present.empty() || present.mapped() != fallback.mapped());
  if (anew) writes.push_back(absl::StrCat(kDefaultKey, " ", fallback.mapped()));
  for (const auto& [key, value] : there) {
    if (!asked.contains(key)) writes.push_back(absl::StrCat(key, " ", *reset));
  }
  for (const auto& [key, value] : asked) {
    const auto at = there.find(key);
    if (anew || at == there.end() || at->second != value) {
      writes.push_back(absl::StrCat(key, " ", value));
    }
  }
  return writes;
}

bool IsWeights(absl::string_view file) {
  return file == kBfqWeight || file == "io.weight";
}

// The text of a file of weights after the write of `value`.
std::string AfterWrite(absl::string_view file, absl::string_view text, absl::string_view value) {
  std::map<std::string, std::string> lines = LinesOf(text);
  for (const auto& [key, weight] : LinesOf(value)) {
    if (key == kDefaultKey && file == kBfqWeight) lines.clear();
    if (key != kDefaultKey && weight == kDefaultKey) {
      lines.erase(key);
    } else {
      lines[key] = weight;
    }
  }
  const auto fallback = lines.extract(kDefaultKey);
  std::string after =
      fallback.empty() ? kNoWeights : absl::StrCat(kDefaultKey, " ", fallback.mapped(), "\n");
  for (const auto& [key, weight] : lines) absl::StrAppend(&after, key, " ", weight, "\n");
  return after;
}

// The texts for NoteWeights after a write of `value`, by file; none for other files.
std::map<std::string, std::string> WeightsAfter(const std::map<std::string, std::string>& before,
                                                const std::string& file, absl::string_view value) {
  const auto text = before.find(file);
  if (text == before.end() || !IsWeights(file)) return {};
  return {{file, AfterWrite(file, text->second, value)}};
}

}  // namespace

SystemdCgroups::SystemdCgroups(std::unique_ptr<linux::CgroupManager> files,
                               std::unique_ptr<Units> units, FsRoot host, std::string run_directory)
    : files_(std::move(files)),
      host_(std::move(host)),
      run_directory_(std::move(run_directory)),
      ooms_(files_.get()),
      units_(std::move(units)) {
  units_->Listen([this] { WriteInexact(); });
}

SystemdCgroups::~SystemdCgroups() {
  units_->Listen(nullptr);
}

absl::StatusOr<SystemdCgroups::Place> SystemdCgroups::PlaceOf(absl::string_view path) {
  Place place;
  PLIMSOLL_ASSIGN_OR_RETURN(place.group, linux::NormalizeCgroupPath(path));
  if (place.group != "/") place.unit = UnitOf(place.group).value_or("");
  return place;
}

void SystemdCgroups::MakeKnown(const std::string& group) {
  ooms_.Watch(group);
  absl::MutexLock lock(&mutex_);
  known_.insert(group);
}

void SystemdCgroups::Forget(const std::string& group) {
  ooms_.Forget(group);
  absl::MutexLock lock(&mutex_);
  known_.erase(group);
  std::erase_if(inexact_, [&](const auto& one) { return one.first.first == group; });
}

absl::Status SystemdCgroups::StartSlice(const Place& slice) {
  const absl::Status started = units_->StartTransient(
      slice.unit,
      {{"Description", absl::StrCat("Plimsoll ", slice.unit)},
       {"DefaultDependencies", false},
       {"CollectMode", std::string("inactive-or-failed")},
       // Else systemd gives its group no controllers until something in it needs them, and
       // takes those away that somebody enables. Accounting of CPU needs no controller.
       {"CPUWeight", uint64_t{100}},
       {"CPUAccounting", true},
       {"MemoryAccounting", true},
       {"IOAccounting", true},
       {"TasksAccounting", true}});
  // An administrator's unit file may define it.
  return absl::IsAlreadyExists(started) ? units_->Start(slice.unit) : started;
}

absl::StatusOr<std::vector<std::string>> SystemdCgroups::Create(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  std::vector<std::string> made;
  absl::Cleanup undo = [&] {
    for (auto each = made.rbegin(); each != made.rend(); ++each) {
      RemoveIfUnused(*each).IgnoreError();
    }
  };
  for (const std::string& group : linux::GroupAndParents(place.group)) {
    if (group == "/") continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const Place each, PlaceOf(group));
    if (!IsSlice(each.unit)) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, files_->Exists(group));
    if (exists) continue;
    PLIMSOLL_RETURN_IF_ERROR(StartSlice(each));
    made.push_back(group);
  }
  // Makes the groups that are no slices, and enables controllers on the way.
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> others, files_->Create(place.group));
  std::move(undo).Cancel();
  for (const std::string& other : others) {
    if (!absl::c_linear_search(made, other)) made.push_back(other);
  }
  return made;
}

absl::StatusOr<std::vector<std::string>> SystemdCgroups::MakeKeeper(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  const auto parent = UnitOf(linux::ParentGroup(place.group));
  if (parent.has_value() && IsSlice(*parent)) return std::vector<std::string>();
  return files_->MakeKeeper(path);
}

absl::Status SystemdCgroups::StartScope(const Place& scope, pid_t pid) {
  const std::string slice = UnitOf(linux::ParentGroup(scope.group)).value_or("-.slice");
  std::vector<Property> properties = {
      {"Description", absl::StrCat("Plimsoll ", scope.unit)},
      {"PIDs", std::vector<uint32_t>{static_cast<uint32_t>(pid)}},
      {"Slice", slice},
      {"Delegate", true},
      // Default dependencies end the scope before the machine's shutdown.
      {"DefaultDependencies", !absl::StartsWith(scope.unit, kPauseScope)},
      {"TimeoutStopUSec", kStopTimeoutUs},
      {"CollectMode", std::string("inactive-or-failed")},
      // systemd's default for scopes is a limit.
      {"TasksMax", kInfinity}};
  if (!run_directory_.empty()) {
    properties.push_back({"RequiresMountsFor", std::vector<std::string>{run_directory_}});
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Property> values,
                            PropertiesNow(scope.group, ControlFiles()));
  properties.insert(properties.end(), values.begin(), values.end());
  if (units_->version() >= kKnowsOomPolicy) {
    const auto group = files_->ReadFile(scope.group, "memory", kOomGroup);
    const bool kills_all = group.ok() && absl::StripAsciiWhitespace(*group) == "1";
    properties.push_back({"OOMPolicy", std::string(kills_all ? "kill" : "continue")});
  }
  return units_->StartTransient(scope.unit, properties);
}

absl::Status SystemdCgroups::Register(absl::string_view path, pid_t pid,
                                      const linux::CgroupSettings& settings) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  if (!IsScope(place.unit)) return absl::OkStatus();
  NoteOomGroup(place.group, Texts(place.group, {kOomGroup}));
  // Before systemd drops disks' weights, which it does with the scope's first values.
  NoteWeights(place.group, WantedTexts(place.group, ControlFiles()));
  const absl::Status started = StartScope(place, pid);
  if (!started.ok() && !absl::IsAlreadyExists(started)) return started;
  MakeKnown(place.group);
  NoteInexact(place.group, ControlFiles());
  KeepOomGroup(place.group);
  // A daemon-reload may have changed the values: before systemd knew the scope, or because nobody
  // restored the values that systemd rounds.
  return HoldsAll(place.group, settings) ? absl::OkStatus() : Apply(place.group, settings);
}

bool SystemdCgroups::HoldsAll(const std::string& group,
                              const linux::CgroupSettings& settings) const {
  const absl::StatusOr<linux::CgroupSettings> now = files_->Read(group);
  if (!now.ok()) return false;
  linux::CgroupSettings wanted = *now;
  linux::MergeInto(settings, &wanted);
  for (const auto& [file, value] : settings.unified) {
    const auto text = files_->ReadFile(group, "", file);
    if (!text.ok() || !Writes(file, *text, value).empty()) return false;
  }
  wanted.unified.clear();
  if (wanted.cpu_shares && now->cpu_shares &&
      linux::CpuSharesToWeight(*wanted.cpu_shares) == linux::CpuSharesToWeight(*now->cpu_shares)) {
    wanted.cpu_shares = now->cpu_shares;
  }
  // Read returns no value for an empty set.
  if (wanted.cpuset_cpus == "") wanted.cpuset_cpus.reset();
  if (wanted.cpuset_mems == "") wanted.cpuset_mems.reset();
  return wanted == *now;
}

absl::Status SystemdCgroups::AddProcess(absl::string_view path, pid_t pid) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  if (!IsScope(place.unit)) return files_->AddProcess(path, pid);
  // The scope ends with its last process, at any time.
  absl::Status status;
  for (int i = 0; i < kTries; ++i) {
    bool is_known = false;
    {
      absl::MutexLock lock(&mutex_);
      is_known = known_.contains(place.group);
    }
    if (is_known) {
      status = files_->AddProcess(place.group, pid);
      if (!absl::IsNotFound(status)) return status;
      Forget(place.group);
    }
    status = StartScope(place, pid);
    if (!status.ok() && !absl::IsAlreadyExists(status)) return status;
    MakeKnown(place.group);
    if (status.ok()) return status;
  }
  return absl::UnavailableError(status.message());
}

absl::Status SystemdCgroups::Remove(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, files_->Exists(place.group));
  // The group before its unit: systemd would end the processes still in it.
  PLIMSOLL_RETURN_IF_ERROR(files_->Remove(place.group));
  // A unit without a group has ended, and systemd forgets it by itself.
  if (exists && !place.unit.empty()) PLIMSOLL_RETURN_IF_ERROR(units_->Stop(place.unit));
  Forget(place.group);
  return absl::OkStatus();
}

absl::Status SystemdCgroups::RemoveIfUnused(absl::string_view path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool existed, files_->Exists(place.group));
  PLIMSOLL_RETURN_IF_ERROR(files_->RemoveIfUnused(place.group));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, files_->Exists(place.group));
  if (!existed || exists || place.unit.empty()) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(units_->Stop(place.unit));
  Forget(place.group);
  return absl::OkStatus();
}

absl::StatusOr<std::string> SystemdCgroups::WantedText(const std::string& group,
                                                       absl::string_view file) const {
  {
    absl::MutexLock lock(&mutex_);
    const auto noted = inexact_.find({group, std::string(file)});
    if (noted != inexact_.end()) return noted->second;
  }
  return files_->ReadFile(group, "", file);
}

std::map<std::string, std::string> SystemdCgroups::WantedTexts(
    const std::string& group, const std::vector<std::string>& files) const {
  std::map<std::string, std::string> texts;
  for (const std::string& file : files) {
    const auto text = WantedText(group, file);
    if (text.ok()) texts[file] = *text;
  }
  return texts;
}

std::map<std::string, std::string> SystemdCgroups::Texts(
    const std::string& group, const std::vector<std::string>& files) const {
  std::map<std::string, std::string> texts;
  for (const std::string& file : files) {
    const auto text = files_->ReadFile(group, "", file);
    if (text.ok()) texts[file] = *text;
  }
  return texts;
}

absl::Status SystemdCgroups::SetBack(const std::string& group,
                                     const std::map<std::string, std::string>& before,
                                     const absl::Status& status) {
  absl::Status result = status;
  for (const auto& [file, text] : before) {
    const auto now = files_->ReadFile(group, "", file);
    if (!now.ok()) continue;
    for (const std::string& value : Writes(file, *now, text)) {
      result = AlsoNotSetBack(result, files_->WriteFile(group, "", file, value));
    }
  }
  return result;
}

absl::StatusOr<std::vector<Property>> SystemdCgroups::PropertiesNow(
    const std::string& group, const std::vector<std::string>& files) const {
  return PropertiesOf(
      files, [&](absl::string_view file) { return WantedText(group, file); },
      [&](absl::string_view number) {
        const std::string device = absl::StrCat("sys/dev/block/", number);
        const auto below = host_.List(absl::StrCat(device, "/slaves"));
        return !host_.Exists(absl::StrCat(device, "/partition")) && (!below.ok() || below->empty());
      });
}

absl::Status SystemdCgroups::Tell(const Place& place, const std::vector<std::string>& files) {
  if (place.unit.empty()) return absl::OkStatus();
  // systemd then writes all values of the unit, including those that a reload has rounded.
  std::vector<std::string> told_files = files;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [at, text] : inexact_) {
      if (at.first == place.group) told_files.push_back(at.second);
    }
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Property> properties,
                            PropertiesNow(place.group, told_files));
  if (properties.empty()) return absl::OkStatus();
  const absl::Status told = units_->SetProperties(place.unit, properties);
  if (told.ok()) KeepOomGroup(place.group);
  return absl::IsNotFound(told) ? absl::OkStatus() : told;
}

absl::Status SystemdCgroups::Apply(absl::string_view path, const linux::CgroupSettings& settings) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  if (place.unit.empty()) return files_->Apply(path, settings);
  const std::vector<std::string> files = FilesOf(settings);
  const auto before = WantedTexts(place.group, AllFilesOf(settings));
  ForgetInexact(place.group, files);
  absl::Status done = files_->Apply(place.group, settings);
  if (done.ok()) {
    for (const auto& [file, value] : settings.unified) {
      NoteWeights(place.group, WeightsAfter(before, file, value));
    }
    if (settings.unified.contains(kOomGroup)) {
      NoteOomGroup(place.group, Texts(place.group, {kOomGroup}));
    }
    done = Tell(place, files);
    if (!done.ok()) {
      NoteOomGroup(place.group, before);
      NoteWeights(place.group, before);
      done = SetBack(place.group, before, done);
    }
  }
  NoteInexact(place.group, files);
  return done;
}

absl::Status SystemdCgroups::WriteFile(absl::string_view path, absl::string_view controller,
                                       absl::string_view file, absl::string_view value) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  if (place.unit.empty() || !IsControlFile(file)) {
    PLIMSOLL_RETURN_IF_ERROR(files_->WriteFile(path, controller, file, value));
    if (!place.unit.empty()) NoteOomGroup(place.group, {{std::string(file), std::string(value)}});
    return absl::OkStatus();
  }
  const std::vector<std::string> files = {std::string(file)};
  const auto before = WantedTexts(place.group, files);
  ForgetInexact(place.group, files);
  absl::Status done = files_->WriteFile(place.group, controller, file, value);
  if (done.ok()) {
    NoteWeights(place.group, WeightsAfter(before, files[0], value));
    done = Tell(place, files);
    if (!done.ok()) {
      NoteWeights(place.group, before);
      done = SetBack(place.group, before, done);
    }
  }
  NoteInexact(place.group, files);
  return done;
}

void SystemdCgroups::ForgetInexact(const std::string& group,
                                   const std::vector<std::string>& files) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& file : files) {
    if (!IsWeights(file)) inexact_.erase({group, file});
  }
}

void SystemdCgroups::NoteWeights(const std::string& group,
                                 const std::map<std::string, std::string>& texts) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [file, text] : texts) {
    if (!IsWeights(file)) continue;
    if (LinesOf(text) == LinesOf(kNoWeights)) {
      inexact_.erase({group, file});
    } else {
      inexact_[{group, file}] = text;
    }
  }
}

void SystemdCgroups::NoteInexact(const std::string& group, const std::vector<std::string>& files) {
  const std::vector<std::string> inexact =
      InexactFiles(files, [&](absl::string_view file) { return WantedText(group, file); });
  const std::map<std::string, std::string> texts = WantedTexts(group, inexact);
  bool expect = false;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [file, text] : texts) {
      inexact_[{group, file}] = text;
      // A quota is rounded only when systemd reads its own files again.
      expect = expect || linux::LineReset(file).has_value();
    }
  }
  if (expect) units_->Expect();
}

void SystemdCgroups::NoteOomGroup(const std::string& group,
                                  const std::map<std::string, std::string>& texts) {
  const auto text = texts.find(kOomGroup);
  if (text == texts.end()) return;
  absl::MutexLock lock(&mutex_);
  if (absl::StripAsciiWhitespace(text->second) == "1") {
    inexact_[{group, kOomGroup}] = "1\n";
  } else {
    inexact_.erase({group, kOomGroup});
  }
}

void SystemdCgroups::KeepOomGroup(const std::string& group) {
  {
    absl::MutexLock lock(&mutex_);
    if (!inexact_.contains({group, kOomGroup})) return;
  }
  WriteInexact();
  units_->Expect();
}

void SystemdCgroups::WriteInexact() {
  absl::MutexLock lock(&mutex_);
  for (const auto& [at, text] : inexact_) {
    const auto& [group, file] = at;
    const auto now = files_->ReadFile(group, "", file);
    if (!now.ok()) continue;
    for (const std::string& value : Writes(file, *now, text)) {
      files_->WriteFile(group, "", file, value).IgnoreError();
    }
  }
}

absl::StatusOr<linux::CgroupSettings> SystemdCgroups::Read(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(linux::CgroupSettings settings, files_->Read(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, files_->Exists(path));
  if (exists) return settings;
  return absl::NotFoundError(absl::StrCat("cgroup ", path, " has just gone"));
}

absl::StatusOr<uint64_t> SystemdCgroups::OomKills(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, PlaceOf(path));
  return IsScope(place.unit) ? ooms_.Kills(place.group) : files_->OomKills(path);
}

}  // namespace plimsoll::systemd
