// A CDI device's changes to a container (CDI specification 0.8, "Container edits"). Members absent
// from the file are empty here; the maker of the OCI spec chooses their values.
#ifndef PLIMSOLL_CDI_EDITS_H_
#define PLIMSOLL_CDI_EDITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::cdi {

struct DeviceNode {
  std::string path;       // in the container
  std::string host_path;  // empty: the same as `path`
  std::string type;       // b, c, u or p; empty: as on the host
  std::optional<int64_t> major;
  std::optional<int64_t> minor;
  std::optional<uint32_t> file_mode;
  std::string permissions;  // of "rwm"; empty: all
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  bool operator==(const DeviceNode&) const = default;
};

struct CdiMount {
  std::string host_path;
  std::string container_path;
  std::string type;  // empty: a bind mount
  std::vector<std::string> options;
  bool operator==(const CdiMount&) const = default;
};

struct Hook {
  std::string name;  // "createRuntime": one of the OCI runtime specification's
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<int64_t> timeout_seconds;
  bool operator==(const Hook&) const = default;
};

struct IntelRdt {
  std::string clos_id;
  std::string l3_cache_schema;
  std::string mem_bw_schema;
  bool enable_cmt = false;
  bool enable_mbm = false;
  bool operator==(const IntelRdt&) const = default;
};

struct ContainerEdits {
  std::vector<std::string> env;  // NAME=value
  std::vector<DeviceNode> device_nodes;
  std::vector<CdiMount> mounts;
  std::vector<Hook> hooks;
  std::vector<uint32_t> additional_gids;
  std::optional<IntelRdt> intel_rdt;

  bool empty() const { return *this == ContainerEdits(); }
  bool operator==(const ContainerEdits&) const = default;
};

}  // namespace plimsoll::cdi

#endif  // PLIMSOLL_CDI_EDITS_H_
