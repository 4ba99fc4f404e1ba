// The section `classes` of plimsolld's configuration: the class types of the node. A type is off
// until it is configured. Plain data; daemon/ makes types of it.
#ifndef PLIMSOLL_QOS_CLASSES_CONFIG_H_
#define PLIMSOLL_QOS_CLASSES_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "qos/class_type.h"
#include "yaml/reader.h"

namespace plimsoll::qos {

// Options of every type.
struct TypeConfig {
  std::string default_class;                 // of a holder that names none; empty: no class
  std::map<std::string, uint64_t> capacity;  // most holders of a class at once; absent: any number
  // Permitted annotations "<type>.class.plimsoll.dev/...": container, default, sandbox.
  std::set<std::string> annotations;
  bool operator==(const TypeConfig&) const = default;
};

struct RdtTypeConfig {
  TypeConfig common;
  std::string config_file;   // absolute
  bool adopt = false;        // classes are the existing resctrl groups
  std::string group_prefix;  // begins the name of a class's directory
  // Where sys/fs/resctrl and the proc/ that says so are; absolute. Other than "/" only for a
  // stand-in.
  std::string resctrl_root = "/";
  bool operator==(const RdtTypeConfig&) const = default;
};

struct BlockioTypeConfig {
  TypeConfig common;
  std::string config_file;  // absolute
  bool pods = false;        // offer the same classes for pods as a whole
  TypeConfig of_pods;       // their default and capacity; `common` has the annotations of both
  bool operator==(const BlockioTypeConfig&) const = default;
};

struct OomTypeConfig {
  TypeConfig common;
  std::map<std::string, int> classes;  // to oom_score_adj, -1000 to 1000
  bool operator==(const OomTypeConfig&) const = default;
};

// A type defined by configuration alone.
struct CgroupTypeConfig {
  TypeConfig common;
  std::string name;
  Level level = Level::kContainer;
  bool immutable = false;
  // Class to cgroup v2 file to value.
  std::map<std::string, std::map<std::string, std::string>> classes;
  bool operator==(const CgroupTypeConfig&) const = default;
};

// Sources from which annotations' classes are taken.
enum class ClassesFrom {
  kAuto,  // as kScheduler once plimsoll-kube has told that the cluster's scheduler gives them out
  kAny,   // annotations count
  kScheduler,  // annotations count where a claim grants the same class
};

struct ClassesConfig {
  ClassesFrom from = ClassesFrom::kAuto;
  bool static_pods = false;  // whose annotations count even then: no scheduler places them
  std::optional<RdtTypeConfig> rdt;
  std::optional<BlockioTypeConfig> blockio;
  std::optional<OomTypeConfig> oom;
  bool pod_qos = false;
  std::vector<CgroupTypeConfig> cgroup;
  bool operator==(const ClassesConfig&) const = default;
};

// Reads the section; mistakes are the reader's. `path` is the section's, for messages.
void ReadClassesConfig(YamlReader& reader, const YAML::Node& node, const std::string& path,
                       ClassesConfig* out);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CLASSES_CONFIG_H_
