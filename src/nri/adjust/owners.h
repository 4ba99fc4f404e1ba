// The plugins that set the fields of one container.
#ifndef PLIMSOLL_NRI_ADJUST_OWNERS_H_
#define PLIMSOLL_NRI_ADJUST_OWNERS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nri/v1alpha1/api.pb.h"
#include "runtime/spec/oci_extras.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// "env \"FOO\"", "linux.scheduler": a field and its key for messages, shortened and printable.
std::string FieldText(absl::string_view path, absl::string_view key);

// Fields are named by their paths (fields.h). A value.
class Owners {
 public:
  // The plugin sets a value. ALREADY_EXISTS names both plugins, if another one has set or removed
  // it and this plugin has not removed it since; INVALID_ARGUMENT, if this plugin has set it.
  absl::Status Claim(const std::string& plugin, absl::string_view path, absl::string_view key);
  // The plugin removes a value, whoever set it, and may then set it.
  void Remove(const std::string& plugin, absl::string_view path, absl::string_view key);
  // One plugin of several that append to a list.
  void Add(const std::string& plugin, absl::string_view path, absl::string_view key);

  // Whether no plugin set or removed anything.
  bool empty() const { return owners_.empty(); }
  // The plugin that set or removed a value; empty: none did.
  std::string PluginOf(absl::string_view path, absl::string_view key) const;
  // All that set something at or below the path, "10-a and 20-b".
  std::string PluginsBelow(absl::string_view path) const;

  // The owners in the protocol's form for validators: "-10-a" is the plugin that removed a value.
  api::FieldOwners ToMessage() const;
  // Sorted by field and key.
  std::vector<runtime::PluginChange> Changes() const;

 private:
  struct Owner {
    std::vector<std::string> plugins;  // one, except of lists that plugins append to
    bool is_removal = false;
  };
  std::map<std::pair<std::string, std::string>, Owner> owners_;  // by path and key
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_OWNERS_H_
