// Lets a registered plugin join: configures it and sends it all objects.
#ifndef PLIMSOLL_NRI_JOINER_H_
#define PLIMSOLL_NRI_JOINER_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "nri/dispatcher.h"
#include "nri/parts.h"
#include "nri/plugin_connection.h"
#include "nri/update_applier.h"

namespace plimsoll::nri {

// Thread-safe.
class Joiner {
 public:
  Joiner(Parts* parts, Dispatcher* dispatcher, UpdateApplier* applier)
      : parts_(parts), dispatcher_(dispatcher), applier_(applier) {}

  // The plugin is ready, or its connection is closed with the reason. Waits for its answers, for
  // the turn, and for creations under way that it couldn't be told of.
  void Join(const std::shared_ptr<PluginConnection>& plugin);

 private:
  absl::Status TryJoin(PluginConnection& plugin);
  absl::Status Synchronize(PluginConnection& plugin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);
  // The visible objects, and those in the making that have been hooked.
  SeenObjects Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);

  Parts* const parts_;
  Dispatcher* const dispatcher_;
  UpdateApplier* const applier_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_JOINER_H_
