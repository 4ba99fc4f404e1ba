// The parts of the engine, one subject each. A part with state owns the lock of that state.
#ifndef PLIMSOLL_RUNTIME_ENGINE_PARTS_H_
#define PLIMSOLL_RUNTIME_ENGINE_PARTS_H_

#include <string>
#include <utility>

#include "runtime/cgroups/node_confinement.h"
#include "runtime/cgroups/pod_groups.h"
#include "runtime/container_exits.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/objects.h"
#include "runtime/pod/class_assignments.h"
#include "runtime/pod/exit_watcher.h"
#include "runtime/pod/plugin_hooks.h"
#include "runtime/pod/pod_handlers.h"
#include "runtime/pod/pod_networks.h"
#include "runtime/pod/pod_pictures.h"
#include "runtime/pod/pod_pid_namespaces.h"
#include "runtime/updates/handler_updates.h"

namespace plimsoll::runtime {

// The processes whose ends are awaited: inits of pods' PID namespaces, and containers.
struct ProcessEnds {
  ProcessEnds(const EngineOptions& options, const std::string& boot_id, PodGroups* groups,
              NodeConfinement* confinement, ClassAssignments* classes)
      : pid_namespaces(options, boot_id, groups, confinement, &watcher),
        exits(options, boot_id, classes, &watcher) {}

  PodPidNamespaces pid_namespaces;
  ContainerExits exits;
  // Last, so that its thread ends before what it calls.
  ExitWatcher watcher;
};

// A part depends only on parts before it, as its header says. The life cycle, updates and recovery
// are above the parts and call them in order.
//
// Order of locks, from the one taken first: Sandbox::operation, Container::start, the hooks' turn
// (pod/hooks.h), Container::operation, a HandlerTurn, Container::cpuset, the class registry's
// definitions(), Container::classes, the class registry's others, ClassAssignments' presence,
// PodGroups, Sandbox::mutex or Container::mutex (never two of them), Objects, NodeConfinement. The
// store's, the event log's and the watcher's come last. So a listener of the event log, which may
// be called under any of these, must not call the engine. HandlerUpdates' lock is taken before
// those of Objects and of HandlerTurns, Sandbox::picture before Sandbox::mutex and Objects. Other
// locks that aren't named here are held over no call to another part.
//
// The turn is held by the hooks' implementation while a hook runs. A hook may call all that takes
// no lock before the turn: reads, Picture, UpdateForPlugin, the stop of a container.
struct EngineParts {
  // `boot_id`: the machine's current one.
  EngineParts(EngineOptions all, const std::string& boot_id)
      : options(std::move(all)),
        confinement(options, &objects),
        groups(options, &objects, &confinement),
        classes(options, &objects, &confinement),
        networks(options, &objects),
        pictures(options, &objects),
        plugin_hooks(options, &objects, &networks, &pictures),
        handlers(options, &pictures),
        handler_updates(options, &objects, &pictures, &handlers),
        ends(options, boot_id, &groups, &confinement, &classes) {}

  const EngineOptions options;
  Objects objects;
  NodeConfinement confinement;
  PodGroups groups;
  ClassAssignments classes;
  PodNetworks networks;
  PodPictures pictures;
  PluginHooks plugin_hooks;
  PodHandlers handlers;
  HandlerUpdates handler_updates;
  // Last, so that the watcher's thread ends before what it uses.
  ProcessEnds ends;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_ENGINE_PARTS_H_
