#include "cri/messages/findings.h"

namespace plimsoll::cri {

void AddFindings(const std::vector<runtime::Finding>& findings,
                 ::plimsoll::v1::InspectResponse* response) {
  for (const runtime::Finding& finding : findings) {
    ::plimsoll::v1::Finding* message = response->add_findings();
    message->set_difference(runtime::DifferenceName(finding.difference));
    message->set_pod_sandbox_id(finding.sandbox_id);
    message->set_container_id(finding.container_id);
    message->set_what(finding.what);
    message->set_action(finding.action);
  }
}

}  // namespace plimsoll::cri
