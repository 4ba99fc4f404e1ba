// A model of a pod's needs, in total and by container (KEP-4112 "Design Details"). Pure functions
// of the records.
#ifndef PLIMSOLL_RUNTIME_REQUESTS_POD_PICTURE_H_
#define PLIMSOLL_RUNTIME_REQUESTS_POD_PICTURE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "resources/requirements.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/pod_resources.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Completeness of a picture.
enum class PictureIs {
  kAbsent,    // nothing
  kPartial,   // some fields of the message (KEP-4112) are told by nobody
  kComplete,  // every field of the message is known, for every container
};
const char* PictureIsName(PictureIs is);  // "complete"
const char* SaidByName(SaidBy by);        // "kubelet"

// The sources of a container's fields; nullopt: nobody told it.
struct ContainerSources {
  std::optional<SaidBy> type;
  std::optional<SaidBy> kubernetes_resources;
  // Members of kubernetes_resources that are Linux's all the same ("limits[cpu]"): the source
  // contradicted it.
  std::vector<std::string> by_linux;
  std::optional<SaidBy> mounts;
  std::optional<SaidBy> devices;
  std::optional<SaidBy> cdi_devices;
  bool operator==(const ContainerSources&) const = default;
};

struct PictureSources {
  std::optional<SaidBy> total;
  std::vector<std::string> total_by_linux;             // as by_linux
  std::map<std::string, ContainerSources> containers;  // by name
  bool operator==(const PictureSources&) const = default;
};

struct PodPicture {
  PictureIs is = PictureIs::kAbsent;
  // The latest word on each field of each container: by its announcement, its creation or an
  // update. Containers that were not announced come last.
  PodResources now;
  resources::Requirements total;  // with overhead
  PictureSources sources;
  // Unless the picture is complete: the fields that nobody told, and kubelet's reasons, for people.
  std::vector<std::string> missing;
  std::vector<std::string> why;
  std::map<std::string, ContainerGrants> grants;  // by container; kubelet's
};

// The picture of a pod. If the pod announced nothing, uses kubelet's word (kubelet_picture.h), else
// its own resources and overhead; without those, the containers' resources. `containers`: the
// existing ones, the newest of each name.
PodPicture MakePicture(const SandboxSpec& pod, const std::vector<ContainerSpec>& containers);

// The latest resources that the pod's author wrote for an existing container: by its creation, an
// update of it, or the pod's announcement.
KubernetesResources WrittenNow(const SandboxSpec& pod, const ContainerSpec& container);

// Records an update of the pod's announcement as word number `word`. Containers that `update`
// doesn't name are no longer announced; members that it leaves empty stay as they were.
void AnnounceAnew(PodResources update, uint64_t word, SandboxSpec* pod);

// JSON text: {"picture":"complete","total":{"requests":{...},"limits":{...}}}, the members of `now`
// and then "sources", "missing", "why" and "grants", in a fixed order; empty members are left out.
// The total's quantities are in canonical form.
std::string ToJson(const PodPicture& picture);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_REQUESTS_POD_PICTURE_H_
