#include "cdi/registry.h"

#include <sys/stat.h>

#include <ctime>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "base/unique_fd.h"
#include "cdi/names.h"

namespace plimsoll::cdi {
namespace {

constexpr size_t kMaxFiles = 1000;  // of a directory
// A file changed more recently than this may change again with the same time.
constexpr absl::Duration kTick = absl::Milliseconds(50);

bool IsSpecFile(absl::string_view name) {
  return absl::EndsWith(name, ".json") || absl::EndsWith(name, ".yaml") ||
         absl::EndsWith(name, ".yml");
}

// Empty for a file that has just been changed.
std::string SignatureOf(const struct stat& info) {
  if (absl::Now() - absl::TimeFromTimespec(info.st_ctim) < kTick) return "";
  return absl::StrCat(info.st_dev, ":", info.st_ino, ":", info.st_size, ":", info.st_ctim.tv_sec,
                      ".", info.st_ctim.tv_nsec);
}

// A FIFO, even one put in the file's place just now, would hold the caller up.
absl::StatusOr<std::string> ReadRegular(const FsRoot& host, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd file, host.OpenFile(path, kOpenToLook));
  return ReadRegularFile(file.get(), kMaxSpecBytes);
}

template <typename T>
void Append(const std::vector<T>& more, std::vector<T>* list) {
  list->insert(list->end(), more.begin(), more.end());
}

void Append(const ContainerEdits& more, ContainerEdits* edits) {
  Append(more.env, &edits->env);
  Append(more.device_nodes, &edits->device_nodes);
  Append(more.mounts, &edits->mounts);
  Append(more.hooks, &edits->hooks);
  Append(more.additional_gids, &edits->additional_gids);
  if (more.intel_rdt.has_value()) edits->intel_rdt = more.intel_rdt;
}

}  // namespace

Registry::Registry(FsRoot host, std::vector<std::string> directories)
    : host_(std::move(host)), directories_(std::move(directories)) {}

std::shared_ptr<const Registry::File> Registry::ReadFile(size_t priority, const std::string& path,
                                                         const std::string& signature) const {
  File file = {.priority = priority, .shown = absl::CHexEscape(path), .signature = signature};
  const absl::StatusOr<std::string> text = ReadRegular(host_, path);
  if (text.ok()) {
    const SpecFormat format = absl::EndsWith(path, ".json") ? SpecFormat::kJson : SpecFormat::kYaml;
    file.status = ParseSpec(*text, format, file.shown, &file.spec);
  } else {
    const std::string why = absl::CHexEscape(text.status().message());  // may name the file too
    file.status = absl::Status(text.status().code(), absl::StrCat(file.shown, ": ", why));
  }
  return std::make_shared<const File>(std::move(file));
}

void Registry::LookInto(size_t priority, std::map<std::string, std::shared_ptr<const File>>* now) {
  const std::string& directory = directories_[priority];
  const absl::StatusOr<std::vector<std::string>> names = host_.List(directory);
  if (!names.ok()) {
    if (!absl::IsNotFound(names.status())) {
      directory_faults_.push_back(std::string(names.status().message()));
    }
    return;
  }
  size_t count = 0;
  for (const std::string& name : *names) {
    if (!IsSpecFile(name)) continue;
    if (++count > kMaxFiles) {
      directory_faults_.push_back(
          absl::StrCat(directory, ": more than ", kMaxFiles, " files; the others are not read"));
      return;
    }
    const std::string path = absl::StrCat(directory, "/", name);
    const absl::StatusOr<struct stat> info = host_.Stat(path);
    if (absl::IsNotFound(info.status())) continue;  // gone meanwhile
    const std::string signature = info.ok() ? SignatureOf(*info) : "";
    const auto before = files_.find(path);
    const bool same = before != files_.end() && !signature.empty() &&
                      before->second->signature == signature &&
                      before->second->priority == priority;
    // A directory that is listed twice counts in its last place.
    (*now)[path] = same ? before->second : ReadFile(priority, path, signature);
  }
}

void Registry::Look() {
  directory_faults_.clear();
  std::map<std::string, std::shared_ptr<const File>> now;
  for (size_t i = 0; i < directories_.size(); ++i) LookInto(i, &now);
  if (now == files_) return;
  files_ = std::move(now);
  Index();
}

void Registry::Index() {
  devices_.clear();
  for (const auto& [path, file] : files_) {
    if (!file->status.ok()) continue;
    for (const auto& [name, edits] : file->spec.devices) {
      Found& found = devices_[absl::StrCat(file->spec.kind, "=", name)];
      if (found.file != nullptr && found.file->priority > file->priority) continue;
      if (found.file != nullptr && found.file->priority == file->priority) {
        found.conflict = file->shown;
        continue;
      }
      found = {.file = file.get(), .edits = &edits, .conflict = ""};
    }
  }
}

std::string Registry::Near(const std::string& name) const {
  std::vector<std::string> names;
  std::set<std::string> kinds;
  for (const auto& [each, unused] : devices_) {
    names.push_back(each);
    kinds.insert(each.substr(0, each.find('=')));
  }
  if (names.empty()) return "";
  const std::string closest = ClosestWord(name, names);
  if (!closest.empty()) return absl::StrCat("; did you mean ", closest, "?");
  constexpr size_t kMost = 10;
  const bool more = kinds.size() > kMost;
  while (kinds.size() > kMost) kinds.erase(std::prev(kinds.end()));
  return absl::StrCat("; there are kinds ", absl::StrJoin(kinds, ", "), more ? ", ..." : "");
}

absl::Status Registry::Missing(const std::string& name, const std::string& kind) const {
  std::vector<std::string> bad;
  for (const auto& [path, file] : files_) {
    const bool may_have_it = file->spec.kind.empty() || file->spec.kind == kind;
    if (!file->status.ok() && may_have_it) bad.emplace_back(file->status.message());
  }
  if (!bad.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no CDI device ", name, " in the files that can be read; ", absl::StrJoin(bad, "; ")));
  }
  std::vector<std::string> others;
  const std::string prefix = absl::StrCat(kind, "=");
  for (auto each = devices_.lower_bound(prefix);
       each != devices_.end() && absl::StartsWith(each->first, prefix); ++each) {
    if (others.size() == 10) {
      others.emplace_back("...");
      break;
    }
    others.push_back(each->first);
  }
  return absl::NotFoundError(
      absl::StrCat("no CDI device ", name, " in ",
                   directories_.empty() ? "any directory: cdi_spec_dirs is empty"
                                        : absl::StrJoin(directories_, ", "),
                   "; ",
                   others.empty() ? absl::StrCat("there is none of kind ", kind, Near(name))
                                  : absl::StrCat("there are ", absl::StrJoin(others, ", "))));
}

absl::StatusOr<ContainerEdits> Registry::Resolve(const std::vector<std::string>& names) {
  absl::MutexLock lock(&mutex_);
  Look();
  ContainerEdits edits;
  std::set<std::string> seen;
  std::set<const File*> begun;
  for (const std::string& name : names) {
    PLIMSOLL_ASSIGN_OR_RETURN(const DeviceName device, ParseDeviceName(name));
    if (!seen.insert(name).second) continue;
    const auto found = devices_.find(name);
    if (found == devices_.end()) return Missing(name, device.kind);
    const Found& there = found->second;
    if (!there.conflict.empty()) {
      return absl::FailedPreconditionError(absl::StrCat("CDI device ", name, " is in both ",
                                                        there.file->shown, " and ", there.conflict,
                                                        "; it must be in one of them"));
    }
    if (begun.insert(there.file).second) Append(there.file->spec.edits, &edits);
    Append(*there.edits, &edits);
  }
  return edits;
}

std::vector<std::string> Registry::Faults() {
  absl::MutexLock lock(&mutex_);
  Look();
  std::vector<std::string> faults = directory_faults_;
  for (const auto& [path, file] : files_) {
    if (!file->status.ok()) faults.emplace_back(file->status.message());
  }
  for (const auto& [name, found] : devices_) {
    if (found.conflict.empty()) continue;
    faults.push_back(absl::StrCat("CDI device ", name, " is in both ", found.file->shown, " and ",
                                  found.conflict, ": no container gets it"));
  }
  return faults;
}

}  // namespace plimsoll::cdi
