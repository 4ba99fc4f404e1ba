// Findings of recovery's inspection, as messages.
#ifndef PLIMSOLL_CRI_MESSAGES_FINDINGS_H_
#define PLIMSOLL_CRI_MESSAGES_FINDINGS_H_

#include <vector>

#include "plimsoll/v1/node.pb.h"
#include "runtime/objects/inspection.h"

namespace plimsoll::cri {

void AddFindings(const std::vector<runtime::Finding>& findings,
                 ::plimsoll::v1::InspectResponse* response);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_FINDINGS_H_
