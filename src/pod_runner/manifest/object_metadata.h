// The metadata of a v1 object of a directory. Used by the objects' readers only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_OBJECT_METADATA_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_OBJECT_METADATA_H_

#include <string>

#include "yaml/reader.h"

namespace plimsoll::pod {

// Reads the key "metadata" of an object. Without a namespace `object_namespace` stays as it is.
void ReadObjectMetadata(YamlReader& reader, YamlMapping& top, std::string& object_namespace,
                        std::string& name);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_OBJECT_METADATA_H_
