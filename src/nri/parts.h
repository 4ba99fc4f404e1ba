// The state that the parts of this room share.
#ifndef PLIMSOLL_NRI_PARTS_H_
#define PLIMSOLL_NRI_PARTS_H_

#include <atomic>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/steady_news.h"
#include "nri/engine_view.h"
#include "nri/kept_messages.h"
#include "nri/makings.h"
#include "nri/notification_queue.h"
#include "nri/nri.h"
#include "nri/roster.h"
#include "nri/turn.h"
#include "runtime/engine.h"

namespace plimsoll::nri {

struct Parts {
  explicit Parts(Options given)
      : options(std::move(given)),
        roster(options.config),
        makings([this](const std::string& id) {
          queue.Push({Notification::Kind::kMade, "", id, {}});
          news.Tell();
        }),
        view(options.host, options.images, options.run, &engine) {}

  void Tell(bool is_warning, const std::string& plugin, const std::string& text) const {
    if (options.tell) options.tell(is_warning, plugin, text);
  }

  const Options options;
  std::atomic<runtime::Engine*> engine{nullptr};  // null: not started yet
  std::atomic<bool> stopping{false};
  SteadyNews news;  // any change that a thread of this room waits for
  NotificationQueue queue{10'000};
  Roster roster;
  Makings makings;
  EngineView view;
  Turn turn;
  KeptMessages objects ABSL_GUARDED_BY(turn);
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_PARTS_H_
