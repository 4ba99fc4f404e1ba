// Brings events to plugins, one after the other.
#ifndef PLIMSOLL_NRI_DISPATCHER_H_
#define PLIMSOLL_NRI_DISPATCHER_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/steady_time.h"
#include "nri/parts.h"
#include "nri/plugin_connection.h"
#include "nri/update_applier.h"

namespace plimsoll::nri {

// Used by the holder of the turn, CloseHolder excepted.
class Dispatcher {
 public:
  Dispatcher(Parts* parts, UpdateApplier* applier) : parts_(parts), applier_(applier) {}

  // Says to the compiler's check of locks that the caller has the turn, which it took by another
  // name.
  void HasTurn() const ABSL_ASSERT_EXCLUSIVE_LOCK(parts_->turn) {}

  // Notifies plugins of what has happened until now.
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);

  // Asks one plugin, if it wants that. The error is for the client: the plugin answered one, or it
  // is required and didn't answer. If an optional one didn't, this logs, leaves `response` empty
  // and returns OK; `answered`, if given, is then false.
  absl::Status Ask(const std::shared_ptr<PluginConnection>& plugin, const PluginRequest& request,
                   google::protobuf::Message* response, bool* answered = nullptr);

  // Sends an event to the plugins that know its object and haven't received this stage of it.
  // Failures are logged.
  void TellStage(const PluginRequest& request, const std::string& id, Stage stage);
  // The same for all plugins that know the object.
  void TellKnowing(const PluginRequest& request, const std::string& id);
  void TellSandboxStopped(const api::PodSandbox& pod);
  void TellSandboxRemoved(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);
  // Makes the updates that plugins answer with.
  void TellContainerStopped(const api::PodSandbox& pod, const api::Container& container);
  void TellContainerRemoved(const api::PodSandbox& pod, const std::string& id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);

  // The latest message of a pod; one with nothing but its id if it isn't known.
  api::PodSandbox PodMessage(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);

  // Ends the connection of a plugin that has been asked for at least `held` without an answer: it
  // holds up the others.
  void CloseHolder(absl::Duration held, const absl::Status& why);

 private:
  void Deliver(const Notification& notification) ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);
  void DeliverContainer(const Notification& notification)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);
  void StartAnew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(parts_->turn);
  // One request, with the plugin as the holder.
  Outcome AskAsHolder(const std::shared_ptr<PluginConnection>& plugin, const PluginRequest& request,
                      google::protobuf::Message* response);
  void TellOne(const std::shared_ptr<PluginConnection>& plugin, const PluginRequest& request,
               google::protobuf::Message* response);

  Parts* const parts_;
  UpdateApplier* const applier_;
  absl::Mutex mutex_;
  std::shared_ptr<PluginConnection> holder_ ABSL_GUARDED_BY(mutex_);
  SteadyTime holds_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_DISPATCHER_H_
