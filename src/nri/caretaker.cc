#include "nri/caretaker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace plimsoll::nri {
namespace {

constexpr int kJoinThreads = 16;
constexpr size_t kMostJoins = 64;
// Events wait in thousands for a while after the plugin at fault has ended; the next one, which is
// asked since a moment only, is innocent.
constexpr absl::Duration kHolderPatience = absl::Milliseconds(500);
constexpr absl::Duration kBetweenNameless = absl::Seconds(10);

}  // namespace

Caretaker::Caretaker(Parts* parts, Dispatcher* dispatcher, Joiner* joiner, RuntimeService* service,
                     Launcher* launcher)
    : parts_(parts),
      dispatcher_(dispatcher),
      joiner_(joiner),
      service_(service),
      launcher_(launcher),
      joins_(kJoinThreads, kMostJoins),
      ends_(kJoinThreads, kMostJoins),
      care_([this] { Care(); }),
      delivery_([this] { Deliver(); }) {}

Caretaker::~Caretaker() {
  parts_->news.Tell();
  parts_->makings.Wake();
  care_.join();
  delivery_.join();
}

void Caretaker::Care() {
  while (true) {
    const uint64_t seen = parts_->news.count();
    if (parts_->stopping) return;
    launcher_->StartDue();
    for (const auto& plugin : parts_->roster.All()) LookAt(plugin);
    if (parts_->queue.IsFull()) {
      dispatcher_->CloseHolder(
          kHolderPatience,
          absl::ResourceExhaustedError(absl::StrCat(
              "it holds up the others: ", parts_->queue.size(), " events wait to be told")));
    }
    parts_->news.Await(seen, NextLook());
  }
}

void Caretaker::LookAt(const std::shared_ptr<PluginConnection>& plugin) {
  if (parts_->stopping) return;  // what is there ends by Nri::Stop
  if (plugin->is_closed()) return Drop(plugin);
  const Step step = plugin->step();
  if (step == Step::kNew && plugin->register_until() <= SteadyNow()) {
    plugin->Close(absl::DeadlineExceededError(absl::StrCat(
        "it did not register within ", parts_->options.config.registration_timeout_ms, " ms")));
    return Drop(plugin);
  }
  if (step != Step::kRegistered || !plugin->MoveTo(Step::kJoining)) return;
  parts_->roster.Changed();
  if (!joins_.TrySchedule([this, plugin] { joiner_->Join(plugin); })) {
    plugin->Close(absl::ResourceExhaustedError("too many plugins join at once"));
  }
}

void Caretaker::Drop(const std::shared_ptr<PluginConnection>& plugin) {
  // The last reference waits for the plugin's own call, which may be an update that takes long. It
  // goes neither here nor in a hook, whose thread has the turn.
  if (!ends_.TrySchedule([plugin] { plugin->AwaitServed(); })) plugin->AwaitServed();
  parts_->roster.Remove(plugin.get());
  parts_->news.Tell();     // it may have been the last one
  parts_->makings.Wake();  // it may be waiting there
  service_->Withdraw(*plugin);
  const std::string why = launcher_->Ended(*plugin);
  plugin->counts()->Failed(why);
  TellGone(*plugin, why);
}

// Whoever may connect shall not fill the log: connections without a name are told now and then, and
// those that only looked whether somebody listens never.
void Caretaker::TellGone(const PluginConnection& plugin, const std::string& why) {
  if (plugin.step() == Step::kNew && !plugin.is_pre_installed()) {
    if (absl::IsUnavailable(plugin.why_closed()) || tell_nameless_from_ > SteadyNow()) return;
    tell_nameless_from_ = SteadyAfter(kBetweenNameless);
  }
  parts_->Tell(/*is_warning=*/true, plugin.name(), absl::StrCat("has ended: ", why));
}

SteadyTime Caretaker::NextLook() const {
  SteadyTime next = launcher_->next_start();
  if (parts_->queue.IsFull()) next = std::min(next, SteadyAfter(kHolderPatience));
  for (const auto& plugin : parts_->roster.All()) {
    if (plugin->step() == Step::kNew) next = std::min(next, plugin->register_until());
  }
  return next;
}

void Caretaker::Deliver() {
  bool kept_some = false;  // for plugins that have gone since
  while (true) {
    const uint64_t seen = parts_->news.count();
    if (parts_->stopping) return;
    const bool forget = kept_some && parts_->roster.IsEmpty();
    if (!parts_->queue.empty() || forget) {
      const TurnHolder turn(&parts_->turn);
      dispatcher_->HasTurn();
      if (parts_->stopping) return;
      dispatcher_->Flush();
      if (parts_->roster.IsEmpty()) {
        parts_->objects.Clear();
        parts_->makings.ForgetHooked();
      }
    }
    kept_some = !parts_->roster.IsEmpty();
    if (parts_->queue.empty()) parts_->news.Await(seen, kNever);
  }
}

}  // namespace plimsoll::nri
