// Looks after connections from their first byte to their end, in two threads of its own.
#ifndef PLIMSOLL_NRI_CARETAKER_H_
#define PLIMSOLL_NRI_CARETAKER_H_

#include <memory>
#include <string>
#include <thread>

#include "base/steady_time.h"
#include "base/worker_pool.h"
#include "nri/dispatcher.h"
#include "nri/joiner.h"
#include "nri/launcher.h"
#include "nri/parts.h"
#include "nri/runtime_service.h"

namespace plimsoll::nri {

// One thread ends connections that don't register, lets those that do join, drops the ended ones
// and starts pre-installed plugins again. The other notifies plugins of what has happened, while no
// hook does.
class Caretaker {
 public:
  Caretaker(Parts* parts, Dispatcher* dispatcher, Joiner* joiner, RuntimeService* service,
            Launcher* launcher);
  // Joins the threads; `parts->stopping` must be set. Joins under way end first.
  ~Caretaker();
  Caretaker(const Caretaker&) = delete;
  Caretaker& operator=(const Caretaker&) = delete;

 private:
  void Care();
  void LookAt(const std::shared_ptr<PluginConnection>& plugin);
  void Drop(const std::shared_ptr<PluginConnection>& plugin);
  void TellGone(const PluginConnection& plugin, const std::string& why);
  SteadyTime NextLook() const;
  void Deliver();

  Parts* const parts_;
  Dispatcher* const dispatcher_;
  Joiner* const joiner_;
  RuntimeService* const service_;
  Launcher* const launcher_;
  WorkerPool joins_;
  WorkerPool ends_;                // of connections whose plugins' calls are still being served
  SteadyTime tell_nameless_from_;  // of the thread that cares
  std::thread care_;
  std::thread delivery_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_CARETAKER_H_
