// Changes of a Node's labels and annotations that leave those of others alone.
#ifndef PLIMSOLL_KUBE_PUBLISH_METADATA_PATCH_H_
#define PLIMSOLL_KUBE_PUBLISH_METADATA_PATCH_H_

#include <nlohmann/json.hpp>

#include "kube/publish/node_facts.h"

namespace plimsoll::kube {

// The annotation that lists the published keys, so that a key that goes is known as an own one
// after any restart: {"annotations": ["plimsoll.dev/classes"], "labels": [...]}.
inline constexpr char kPublished[] = "plimsoll.dev/published";

// The merge patch after which `node` has the wanted labels and annotations, and none that were
// published before and are not wanted now; null: nothing is to be done. It names only keys that are
// wanted or listed in the annotation kPublished, and of the latter only those below plimsoll.dev/,
// whoever wrote the list. Listed facts of a topology that is unknown stay. No facts: all that was
// published is removed, and the list too.
nlohmann::json MetadataPatch(const nlohmann::json& node, const NodeFacts& wanted);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_METADATA_PATCH_H_
