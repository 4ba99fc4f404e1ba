// A pod's picture, shown to whoever sees its containers' OCI specs.
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "runtime/engine_impl.h"
#include "runtime/pod_differences.h"
#include "runtime/pod_picture.h"
#include "runtime/sandbox_place.h"

namespace plimsoll::runtime {
namespace {

constexpr char kPicture[] = "plimsoll.dev/pod-resources";
constexpr char kPictureFile[] = "plimsoll.dev/pod-resources-file";

}  // namespace

PodPicture EngineImpl::PictureOf(const SandboxRecord& sandbox, const ContainerSpec* also) const {
  std::map<std::string, ContainerSpec> newest;
  const auto add = [&newest](ContainerSpec spec) {
    const auto known = newest.find(spec.name);
    if (known != newest.end() && known->second.attempt > spec.attempt) return;
    std::string name = spec.name;
    newest[std::move(name)] = std::move(spec);
  };
  for (const auto& container : ContainersOf(sandbox.id)) {
    ContainerRecord record = container->Snapshot();
    if (record.state != ContainerState::kRemoving) add(std::move(record.spec));
  }
  if (also != nullptr) add(*also);
  std::vector<ContainerSpec> specs;
  for (auto& [name, spec] : newest) specs.push_back(std::move(spec));
  return MakePicture(sandbox.spec, specs);
}

absl::StatusOr<PodPicture> EngineImpl::Picture(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, FindSandbox(id));
  return PictureOf(sandbox->Snapshot(), nullptr);
}

void EngineImpl::AnnotatePicture(const SandboxRecord& sandbox, ContainerSpec* made) const {
  if (!options_.show_pictures) return;
  made->annotations[kPicture] = ToJson(PictureOf(sandbox, made));
  if (sandbox.spec.pod_resources.empty()) return;
  made->annotations[kPictureFile] = options_.run.PathOf(PictureFileOf(sandbox.id));
}

std::string EngineImpl::DifferenceFromAnnounced(const SandboxRecord& sandbox,
                                                const ContainerSpec& made) const {
  if (!options_.show_pictures || sandbox.spec.pod_resources.containers.empty()) return "";
  const std::vector<std::string> differences = DifferencesOf(made, PictureOf(sandbox, nullptr).now);
  if (differences.empty()) return "";
  return absl::StrCat("container ", made.name,
                      " is not as it was announced: ", absl::StrJoin(differences, "; "));
}

void EngineImpl::ShowPicture(const std::string& sandbox_id) {
  const auto sandbox = FindSandbox(sandbox_id);
  if (!sandbox.ok() || !options_.show_pictures) return;
  absl::MutexLock alone(&(*sandbox)->picture);
  const SandboxRecord record = (*sandbox)->Snapshot();
  if (record.spec.pod_resources.empty() || record.state != SandboxState::kReady) return;
  const absl::Status written = options_.run.ReplaceFile(
      PictureFileOf(record.id), absl::StrCat(ToJson(PictureOf(record, nullptr)), "\n"), 0600);
  // A sandbox that is just being removed has no place any more.
  if (!absl::IsNotFound(written)) Warn(record.id, "", Annotate(written, "show what the pod needs"));
}

}  // namespace plimsoll::runtime
