// Documents of a cluster that are no policies.
#ifndef PLIMSOLL_KUBE_MANIFESTS_DOCUMENTS_H_
#define PLIMSOLL_KUBE_MANIFESTS_DOCUMENTS_H_

#include <string>
#include <vector>

#include "kube/manifests/manifests.h"

namespace plimsoll::kube {

// A DeviceClass with an extended resource.
std::string DeviceClass(const qos::ClassId& id);
// A ResourceQuota that allows nothing, with every key by which the classes are counted.
std::string Quota(const std::vector<qos::ClassId>& classes);
std::string Namespace(const std::string& name);
// The service account and its roles.
std::string Rbac(const std::string& name_space);
std::string DaemonSet(const ManifestOptions& options);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_MANIFESTS_DOCUMENTS_H_
