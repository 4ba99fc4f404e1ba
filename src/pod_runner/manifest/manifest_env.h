// The env and envFrom parts of a pod manifest. Used by manifest_container.cc only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_ENV_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_ENV_H_

#include <string>

#include "pod_runner/manifest/env_source.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

EnvVar ReadEnv(YamlReader& reader, const YAML::Node& node, const std::string& path);
EnvFrom ReadEnvFrom(YamlReader& reader, const YAML::Node& node, const std::string& path);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_ENV_H_
