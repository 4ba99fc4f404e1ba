#include "daemon/classes.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "qos/pod_qos.h"

namespace plimsoll::daemon {

absl::StatusOr<std::unique_ptr<qos::Registry>> MakeClasses(const qos::ClassesConfig& config,
                                                           const ClassEnvironment&) {
  std::vector<std::unique_ptr<qos::ClassType>> types;
  std::map<std::string, std::string> unavailable;
  if (config.pod_qos) types.push_back(std::make_unique<qos::PodQosType>());
  return qos::Registry::Create(std::move(types), std::move(unavailable));
}

qos::AnnotationPolicy AnnotationPolicyFrom(const qos::ClassesConfig& config) {
  qos::AnnotationPolicy policy;
  if (config.rdt) policy[qos::kRdt] = config.rdt->common.annotations;
  if (config.blockio) policy[qos::kBlockio] = config.blockio->common.annotations;
  if (config.oom) policy["oom"] = config.oom->common.annotations;
  for (const qos::CgroupTypeConfig& type : config.cgroup) {
    policy[type.name] = type.common.annotations;
  }
  return policy;
}

}  // namespace plimsoll::daemon
