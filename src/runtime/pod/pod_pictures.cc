#include "runtime/pod/pod_pictures.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/objects/state_machine.h"
#include "runtime/requests/asked_spec.h"
#include "runtime/requests/pod_contradictions.h"
#include "runtime/requests/pod_differences.h"
#include "runtime/requests/pod_picture.h"
#include "runtime/spec/paths.h"

namespace plimsoll::runtime {
namespace {

constexpr char kPictureAnnotation[] = "plimsoll.dev/pod-resources";
constexpr char kPictureFileAnnotation[] = "plimsoll.dev/pod-resources-file";

bool IsShownInAFile(const SandboxSpec& spec) {
  return !spec.pod_resources.empty() || spec.facts.has_value() || !spec.picture_directory.empty();
}

}  // namespace

void PodPictures::CountWords(const std::vector<SandboxRecord>& sandboxes,
                             const std::vector<ContainerRecord>& containers) {
  uint64_t last = 0;
  for (const SandboxRecord& sandbox : sandboxes) {
    for (const auto& [name, words] : sandbox.spec.announced) {
      last = std::max({last, words.resources, words.mounts, words.devices, words.cdi_devices});
    }
  }
  for (const ContainerRecord& container : containers) {
    last = std::max({last, container.spec.said.made, container.spec.said.resources});
  }
  words_ = last;
}

std::vector<ContainerSpec> PodPictures::NewestSpecs(const SandboxRecord& sandbox,
                                                    const ContainerSpec* also) const {
  std::map<std::string, ContainerSpec> newest;
  const auto add = [&newest](ContainerSpec spec) {
    const auto known = newest.find(spec.name);
    if (known != newest.end() && known->second.attempt > spec.attempt) return;
    std::string name = spec.name;
    newest[std::move(name)] = std::move(spec);
  };
  for (const auto& container : objects_->ContainersOf(sandbox.id)) {
    ContainerRecord record = container->Snapshot();
    if (record.state != ContainerState::kRemoving) add(std::move(record.spec));
  }
  if (also != nullptr) add(*also);
  std::vector<ContainerSpec> specs;
  for (auto& [name, spec] : newest) specs.push_back(std::move(spec));
  return specs;
}

PodPicture PodPictures::Of(const SandboxRecord& sandbox, const ContainerSpec* also) const {
  std::vector<ContainerSpec> specs = NewestSpecs(sandbox, also);
  for (ContainerSpec& spec : specs) spec = AsAsked(std::move(spec));
  return MakePicture(sandbox.spec, specs);
}

std::vector<ContainerSpec> PodPictures::LivingSpecs(const SandboxRecord& sandbox,
                                                    const ContainerSpec* also) const {
  std::vector<ContainerSpec> living;
  for (const auto& container : objects_->ContainersOf(sandbox.id)) {
    ContainerRecord record = container->Snapshot();
    const bool is_also = also != nullptr && record.spec.name == also->name;
    if (HasProcess(record) && !is_also) living.push_back(std::move(record.spec));
  }
  if (also != nullptr) living.push_back(*also);
  return living;
}

absl::Status PodPictures::AddTo(const SandboxRecord& sandbox, ContainerSpec* made) const {
  if (!options_.show_pictures) return absl::OkStatus();
  made->annotations[kPictureAnnotation] = ToJson(Of(sandbox, made));
  if (!IsShownInAFile(sandbox.spec)) return absl::OkStatus();
  const std::string directory = options_.run.PathOf(PictureDirectoryOf(sandbox.id));
  made->annotations[kPictureFileAnnotation] = absl::StrCat(directory, "/", kPictureFile);
  const std::string place = CleanPath(sandbox.spec.picture_directory);
  if (place.empty()) return absl::OkStatus();
  for (const Mount& mount : made->mounts) {
    if (CleanPath(mount.container_path) != place) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("container ", made->name, ": it mounts ", mount.host_path, " at ", place,
                     ", but the pod's annotations name that place for the pod's resources"));
  }
  made->mounts.push_back(
      {.container_path = place, .host_path = directory, .readonly = true, .selinux_relabel = true});
  return absl::OkStatus();
}

std::string PodPictures::CompareWithAnnounced(const SandboxRecord& sandbox, ContainerSpec* made) {
  made->said.made = NextWord();
  made->said.resources = made->kubernetes_resources.empty() ? 0 : made->said.made;
  if (!options_.show_pictures || sandbox.spec.pod_resources.containers.empty()) return "";
  const std::vector<ContainerSpec> there = NewestSpecs(sandbox, nullptr);
  const auto found =
      absl::c_find_if(there, [&](const ContainerSpec& each) { return each.name == made->name; });
  const ContainerSpec* last = found == there.end() ? nullptr : &*found;
  const AnnouncedContainer expected = ExpectedOf(sandbox.spec, made->name, last);
  const std::vector<std::string> differences = DifferencesOf(*made, expected);
  // If the resources are those of an update of the previous attempt, they stay the word that
  // attempts are held to, whatever else differs.
  const bool follows = last != nullptr && IsUpdated(sandbox.spec, *last) &&
                       ResourceDifferencesOf(*made, expected).empty();
  if (follows && made->said.resources != 0) made->said.resources = NextWord();
  if (differences.empty()) return "";
  return absl::StrCat("container ", made->name,
                      " is not as it was announced: ", absl::StrJoin(differences, "; "));
}

void PodPictures::TellContradiction(const ContainerRecord& container,
                                    const ContainerSpec* had) const {
  if (!options_.show_pictures) return;
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox =
      objects_->FindSandbox(container.sandbox_id);
  const SandboxSpec pod = sandbox.ok() ? (*sandbox)->Snapshot().spec : SandboxSpec();
  const std::string before = had == nullptr ? "" : ContradictionOf(pod, AsAsked(*had));
  if (IsComparedWithKubelet(pod, container.spec)) {
    absl::MutexLock lock(&(*sandbox)->mutex);
    (*sandbox)->contradictions.emplace(container.spec.name, before);
    return;
  }
  const std::string now = ContradictionOf(pod, AsAsked(container.spec));
  if (!pod.pod_resources.empty()) {
    absl::MutexLock lock(&(*sandbox)->mutex);
    (*sandbox)->contradictions[container.spec.name] = now;  // for TellUnfollowed
  }
  if (now.empty() || now == before) return;
  options_.events->Add(EventType::kWarning, container.sandbox_id, container.id, now);
}

void PodPictures::TellUnfollowed(const ContainerRecord& container) const {
  if (!options_.show_pictures) return;
  const auto sandbox = objects_->FindSandbox(container.sandbox_id);
  if (!sandbox.ok()) return;
  const SandboxSpec pod = (*sandbox)->Snapshot().spec;
  if (pod.pod_resources.empty()) return;
  ContainerSpec spec = AsAsked(container.spec);
  spec.kubernetes_resources = WrittenNow(pod, spec);
  const std::string now = ContradictionOf(pod, spec);
  {
    absl::MutexLock lock(&(*sandbox)->mutex);
    std::string& told = (*sandbox)->contradictions[spec.name];
    if (std::exchange(told, now) == now) return;
  }
  if (now.empty()) return;
  options_.events->Add(EventType::kWarning, container.sandbox_id, container.id, now);
}

void PodPictures::TellContradiction(const std::string& sandbox_id, const SandboxSpec* had,
                                    const SandboxSpec& pod) const {
  if (!options_.show_pictures) return;
  const std::string now = ContradictionOf(pod);
  if (const auto sandbox = objects_->FindSandbox(sandbox_id);
      sandbox.ok() && IsComparedWithKubelet(pod)) {
    absl::MutexLock lock(&(*sandbox)->mutex);
    (*sandbox)->contradictions.emplace("", had == nullptr ? now : ContradictionOf(*had));
    if (had != nullptr) return;
  }
  if (now.empty() || (had != nullptr && ContradictionOf(*had) == now)) return;
  options_.events->Add(EventType::kWarning, sandbox_id, "", now);
}

void PodPictures::TellContradictionsWithKubelet(Sandbox& sandbox, const SandboxSpec& had) const {
  if (!options_.show_pictures) return;
  const SandboxSpec pod = sandbox.Snapshot().spec;
  if (!IsComparedWithKubelet(pod)) return;
  struct Compared {
    std::string container_id;
    std::string before;
    std::string now;
  };
  std::map<std::string, Compared> all;
  all[""] = {"", ContradictionOf(had), ContradictionOf(pod)};
  for (const auto& container : objects_->ContainersOf(sandbox.id)) {
    const ContainerRecord record = container->Snapshot();
    const bool is_live =
        record.state == ContainerState::kCreated || record.state == ContainerState::kRunning;
    const ContainerSpec spec = AsAsked(record.spec);
    if (!is_live || !IsComparedWithKubelet(pod, spec)) continue;
    all[spec.name] = {record.id, ContradictionOf(had, spec), ContradictionOf(pod, spec)};
  }
  for (auto& [name, compared] : all) {
    {
      absl::MutexLock lock(&sandbox.mutex);
      std::string& told = sandbox.contradictions.emplace(name, compared.before).first->second;
      if (std::exchange(told, compared.now) == compared.now) continue;
    }
    if (compared.now.empty()) continue;
    options_.events->Add(EventType::kWarning, sandbox.id, compared.container_id, compared.now);
  }
}

bool PodPictures::FollowsLinux(const std::string& sandbox_id) const {
  const auto sandbox = objects_->FindSandbox(sandbox_id);
  if (!sandbox.ok() || !options_.show_pictures) return false;
  absl::MutexLock lock(&(*sandbox)->mutex);
  const SandboxSpec& pod = (*sandbox)->record.spec;
  return pod.pod_resources.empty() && pod.facts.has_value();
}

absl::Status PodPictures::Write(const SandboxRecord& record) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, OpenPictureDirectory(options_.run, record.id));
  // Readable by all if containers see it: they run as any user.
  const mode_t mode = record.spec.picture_directory.empty() ? 0600 : 0644;
  return directory.ReplaceFile(kPictureFile, absl::StrCat(ToJson(Of(record, nullptr)), "\n"), mode);
}

void PodPictures::Show(const std::string& sandbox_id) const {
  const auto sandbox = objects_->FindSandbox(sandbox_id);
  if (!sandbox.ok() || !options_.show_pictures) return;
  absl::MutexLock alone(&(*sandbox)->picture);
  const SandboxRecord record = (*sandbox)->Snapshot();
  if (!IsShownInAFile(record.spec) || record.state != SandboxState::kReady) return;
  const absl::Status written = Write(record);
  // NOT_FOUND: the sandbox is being removed and has no place any more.
  if (!absl::IsNotFound(written))
    options_.events->Warn(record.id, "", Annotate(written, "show the pod's resources"));
}

}  // namespace plimsoll::runtime
