// ClusterService's messages (plimsoll/v1/cluster.proto) as plain values.
#ifndef PLIMSOLL_KUBE_LINK_TRANSLATE_REPORT_H_
#define PLIMSOLL_KUBE_LINK_TRANSLATE_REPORT_H_

#include "kube/link/runtime_link.h"
#include "plimsoll/v1/cluster.pb.h"

namespace plimsoll::kube {

// Never fails: a later plimsolld may tell more than this program knows. A type at an unknown level
// is left out. A topology that is none is left out and a trouble "TopologyUnknown" says why.
NodeReport ReportFrom(const ::plimsoll::v1::NodeReport& message);

void FillPodClasses(const PodClasses& pod, ::plimsoll::v1::SetPodClassesRequest* out);
PodClasses PodClassesFrom(const ::plimsoll::v1::SetPodClassesRequest& message);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_LINK_TRANSLATE_REPORT_H_
