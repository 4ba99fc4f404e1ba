// The implementation of engine.h: the life cycle of sandboxes and containers, over the parts that
// engine_parts.h names. Its methods are in sandbox_operations.cc, container_start.cc,
// container_stop.cc and engine.cc.
#ifndef PLIMSOLL_RUNTIME_ENGINE_IMPL_H_
#define PLIMSOLL_RUNTIME_ENGINE_IMPL_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "runtime/container_creation.h"
#include "runtime/engine.h"
#include "runtime/engine_commands.h"
#include "runtime/engine_inspection.h"
#include "runtime/engine_parts.h"
#include "runtime/engine_readings.h"
#include "runtime/recovery.h"
#include "runtime/unused_layers.h"
#include "runtime/updates/container_updates.h"
#include "runtime/updates/kubelet_word.h"
#include "runtime/updates/pod_updates.h"

namespace plimsoll::runtime {

class EngineImpl : public Engine {
 public:
  EngineImpl(EngineOptions options, std::string boot_id)
      : boot_id_(std::move(boot_id)),
        parts_(std::move(options), boot_id_),
        updates_(parts_.options, &parts_.confinement, &parts_.classes, &parts_.pictures,
                 &parts_.handlers, &parts_.handler_updates),
        pod_updates_(parts_.options, &parts_.objects, &parts_.confinement, &parts_.pictures,
                     &parts_.handlers, &parts_.handler_updates, &parts_.plugin_hooks),
        kubelet_word_(parts_.options, &parts_.objects, &parts_.pictures, &parts_.handlers),
        readings_(parts_.options, &parts_.objects),
        commands_(parts_.options, &parts_.objects, &parts_.classes),
        creation_(&parts_, boot_id_),
        inspection_(parts_.options, boot_id_, &parts_.objects, &parts_.networks, &parts_.classes),
        layers_(parts_.options, &parts_.objects),
        recovery_(
            &parts_, &inspection_, &updates_, &pod_updates_, &layers_,
            {.remove = [this](const std::string& id) { return RemoveSandbox(id); },
             .unmake = [this](const SandboxRecord& record) { return UnmakeSandbox(record); }}) {}
  ~EngineImpl() override {
    recovery_.End();
    parts_.ends.exits.End();
    parts_.handler_updates.CallOffAll();
  }

  absl::StatusOr<std::string> RunSandbox(const SandboxSpec& spec,
                                         std::string client_config) override;
  absl::Status StopSandbox(absl::string_view id) override;
  absl::Status RemoveSandbox(absl::string_view id) override;
  absl::StatusOr<SandboxRecord> GetSandbox(absl::string_view id) const override;
  std::vector<SandboxRecord> ListSandboxes() const override {
    return parts_.objects.ListSandboxes();
  }
  void VisitSandboxes(Objects::VisitSandboxFn visit) const override {
    parts_.objects.VisitSandboxes(visit);
  }
  std::vector<std::string> Addresses(absl::string_view id) const override;

  absl::StatusOr<std::string> CreateContainer(absl::string_view sandbox_id,
                                              const ContainerSpec& spec,
                                              std::string client_config) override;
  absl::Status StartContainer(absl::string_view id) override;
  absl::Status StopContainer(absl::string_view id, absl::Duration grace) override;
  absl::Status RemoveContainer(absl::string_view id) override;
  absl::StatusOr<ContainerRecord> GetContainer(absl::string_view id) const override;
  std::vector<ContainerRecord> ListContainers() const override {
    return parts_.objects.ListContainers();
  }
  void VisitContainers(Objects::VisitContainerFn visit) const override {
    parts_.objects.VisitContainers(visit);
  }
  std::vector<ContainerRecord> ListContainersOf(const std::string& sandbox_id) const override {
    return parts_.objects.ListContainersOf(sandbox_id);
  }

  absl::StatusOr<EffectiveResources> ReadResources(absl::string_view id) override;
  absl::Status UpdateResources(absl::string_view id, const ResourceUpdate& update) override;
  absl::Status UpdateForPlugin(absl::string_view id, const ResourceUpdate& update) override;
  absl::StatusOr<EffectiveResources> ReadSandboxResources(absl::string_view id) const override;
  absl::Status UpdateSandboxResources(absl::string_view id, const SandboxUpdate& update) override;
  void CallOffUpdates() override { parts_.handler_updates.CallOffAll(); }
  absl::StatusOr<PodPicture> Picture(absl::string_view id) const override;
  absl::Status TakeFacts(absl::string_view id, PodFacts facts) override {
    return kubelet_word_.Take(id, std::move(facts));
  }
  void SetNodeShare(const NodeShare& share) override { parts_.confinement.SetShare(share); }
  void RefuseOutsideShare(bool refuse) override { parts_.confinement.RefuseOutside(refuse); }
  absl::StatusOr<std::map<std::string, qos::EffectiveClass>> ContainerClasses(absl::string_view id,
                                                                              bool look) override;
  absl::StatusOr<std::map<std::string, qos::EffectiveClass>> SandboxClasses(absl::string_view id,
                                                                            bool look) override;
  absl::Status UpdateSandboxClasses(absl::string_view id, const qos::ClassNames& classes) override;
  Readings& readings() override { return readings_; }
  Commands& commands() override { return commands_; }
  absl::StatusOr<ContainerRecord> WaitContainer(absl::string_view id, absl::Time deadline) override;
  std::vector<Finding> Inspect() override { return inspection_.Inspect(); }
  std::vector<std::string> RecoveryTroubles() const override { return recovery_.Troubles(); }

 private:
  friend class Engine;  // Create starts the parts

  // Removes everything of a sandbox that is not among Objects, its row last.
  absl::Status UnmakeSandbox(const SandboxRecord& record);
  // Undoes a creation that failed. If something can't be removed, the row stays, and the sandbox
  // shows as one that can only be removed.
  void UndoSandbox(SandboxRecord record);
  // Frees all that a sandbox without containers holds, in any state: its PID namespace, classes,
  // network with host ports, and namespaces. After an error it can be called again. The caller
  // holds the sandbox's operation.
  absl::Status GiveBack(const SandboxRecord& record);
  absl::Status StopSandboxLocked(const std::shared_ptr<Sandbox>& sandbox)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(sandbox->operation);
  // Records that its removal has begun; on a full disk in the run directory. After an error the
  // sandbox is as it was.
  absl::StatusOr<SandboxRecord> PutOnRecordAsRemoved(Sandbox& sandbox);

  // Sends the stop signal as soon as the container's init would get it, and waits. True when the
  // container has exited by `deadline`.
  bool StopGently(const std::shared_ptr<Container>& container, absl::Time deadline);
  // Waits, for at most `program_wait`, until a started init has executed its program.
  // FAILED_PRECONDITION with the reason when it could not; its exit is on record then.
  absl::Status AwaitProgram(const std::shared_ptr<Container>& container);
  // Records and reports the end of a container whose process didn't start; returns `failure`.
  absl::Status FailStart(Container& container, const absl::Status& failure);

  const std::string boot_id_;
  EngineParts parts_;
  ContainerUpdates updates_;
  PodUpdates pod_updates_;
  KubeletWord kubelet_word_;
  EngineReadings readings_;
  EngineCommands commands_;
  ContainerCreation creation_;
  EngineInspection inspection_;
  UnusedLayers layers_;
  Recovery recovery_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_IMPL_H_
