#include "pod_runner/manifest/object_metadata.h"

#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

void ReadObjectMetadata(YamlReader& reader, YamlMapping& top, std::string& object_namespace,
                        std::string& name) {
  const auto node = top.Get("metadata");
  if (!node) return reader.Fail(top.node(), "", "\"metadata\" with a \"name\" is missing");
  YamlMapping metadata(reader, *node, "metadata");
  metadata.Required("name", name);
  metadata.String("namespace", object_namespace);
  for (const char* key :
       {"labels", "annotations", "uid", "resourceVersion", "creationTimestamp", "generation",
        "ownerReferences", "finalizers", "managedFields", "selfLink"}) {
    metadata.Get(key);
  }
  metadata.Finish();
  if (!name.empty() && !IsDnsName(name, /*dots=*/true)) {
    reader.Fail(*node, "metadata.name",
                "must be lower-case letters, digits, \"-\" and \".\", at most 253");
  }
}

}  // namespace plimsoll::pod
