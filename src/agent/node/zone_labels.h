// A node's labels from the attributes of its zones.
#ifndef PLIMSOLL_AGENT_NODE_ZONE_LABELS_H_
#define PLIMSOLL_AGENT_NODE_ZONE_LABELS_H_

#include <map>
#include <string>

#include "topology/zones/zone.h"

namespace plimsoll::agent {

// An attribute "tier" is label "zone.plimsoll.dev/tier"; one with a prefix of its own
// ("example.com/tier") keeps it. The value is a label's (LabelValueOf).
//
// No label: attributes on which two zones differ, since a label is the whole node's; those that
// have a place of their own (cpu-ids, id, machine-id, boot-id, system-uuid); keys in kubernetes.io
// and k8s.io, which are Kubernetes' own; names and values that no label can have, e.g. a list of
// cpu-features longer than 63 characters.
std::map<std::string, std::string> LabelsOf(const topology::Topology& topology);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_ZONE_LABELS_H_
