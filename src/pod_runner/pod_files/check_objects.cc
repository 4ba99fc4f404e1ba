#include "pod_runner/pod_files/check_objects.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/cri_requests/env.h"
#include "pod_runner/pod_files/files_volume.h"

namespace plimsoll::pod {

absl::Status CheckObjects(const Manifest& pod, const ConfigObjects* objects) {
  PodContext context;
  context.objects = objects;
  absl::Status problems;
  for (const ContainerManifest& container : pod.containers) {
    ProgramRoom room(ProgramRoom::OfProcess());
    problems =
        AlsoTell(problems, Annotate(ResolveEnvironment(pod, container, context, room).status(),
                                    absl::StrCat(pod.file, ": container ", container.name)));
  }
  for (const Volume& volume : pod.volumes) {
    if (!volume.files) continue;
    problems = AlsoTell(problems, Annotate(ContentsOf(pod, volume, context).status(), pod.file));
  }
  return problems;
}

}  // namespace plimsoll::pod
