// Inspection (objects/inspection.h) of the engine's records, at its start and while it runs.
#ifndef PLIMSOLL_RUNTIME_ENGINE_INSPECTION_H_
#define PLIMSOLL_RUNTIME_ENGINE_INSPECTION_H_

#include <string>
#include <utility>
#include <vector>

#include "runtime/objects/engine_options.h"
#include "runtime/objects/inspection.h"
#include "runtime/objects/objects.h"
#include "runtime/pod/class_assignments.h"
#include "runtime/pod/pod_networks.h"

namespace plimsoll::runtime {

// Uses the options, Objects, PodNetworks and ClassAssignments, which must outlive it. Thread-safe;
// changes nothing, and holds no lock over a look.
class EngineInspection {
 public:
  EngineInspection(const EngineOptions& options, std::string boot_id, const Objects* objects,
                   const PodNetworks* networks, const ClassAssignments* classes)
      : options_(options),
        boot_id_(std::move(boot_id)),
        objects_(objects),
        networks_(networks),
        classes_(classes) {}

  // The places to look at: an input without the records, the same at a start and later.
  InspectionInput Places() const;
  // The differences that recovery would find if the daemon were started now. Looks twice, some
  // hundred milliseconds apart, to leave out operations under way.
  std::vector<Finding> Inspect() const;

 private:
  std::vector<Finding> LookOnce() const;

  const EngineOptions& options_;
  const std::string boot_id_;
  const Objects* const objects_;
  const PodNetworks* const networks_;
  const ClassAssignments* const classes_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_INSPECTION_H_
