// Looks for the ConfigMaps and Secrets that a pod needs, before anything is made.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_CHECK_OBJECTS_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_CHECK_OBJECTS_H_

#include "absl/status/status.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/manifest/objects.h"

namespace plimsoll::pod {

// OK when all objects and keys of variables and volumes are there, or optional, and fit. Else every
// problem, a line each. `objects` may be null.
absl::Status CheckObjects(const Manifest& pod, const ConfigObjects* objects);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_CHECK_OBJECTS_H_
