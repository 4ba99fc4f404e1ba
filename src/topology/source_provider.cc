#include "topology/source_provider.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "topology/validate.h"

namespace plimsoll::topology {

ProviderSource::ProviderSource(absl::Duration hold, UniqueFd poke,
                               std::optional<TopologyKeeper> keeper, Tell tell)
    : hold_(hold), poke_(std::move(poke)), keeper_(std::move(keeper)), tell_(std::move(tell)) {
  if (!keeper_) return;
  std::optional<KeptTopology> kept = keeper_->Load();
  if (!kept) return;
  absl::MutexLock lock(&mutex_);
  topology_ = std::move(kept->topology);
  author_ = std::move(kept->author);
  // A clock that was set back must not extend the time.
  const absl::Time now = absl::Now();
  gone_ = std::min(kept->gone.value_or(now), now);
  kept_.is_in_use = true;
}

absl::StatusOr<std::shared_ptr<ProviderSource>> ProviderSource::Make(
    absl::Duration hold, std::optional<TopologyKeeper> keeper, Tell tell) {
  UniqueFd poke(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!poke.valid()) return ErrnoStatus(errno, "eventfd");
  return std::shared_ptr<ProviderSource>(
      new ProviderSource(hold, std::move(poke), std::move(keeper), std::move(tell)));
}

void ProviderSource::TellOf(absl::string_view provider, absl::string_view what) {
  constexpr size_t kMostBytes = 1000;  // the provider's names may be long
  if (!tell_) return;
  tell_(absl::StrCat("topology provider \"", provider, "\" ", what.substr(0, kMostBytes)));
}

absl::StatusOr<std::unique_ptr<ProviderSource::Session>> ProviderSource::Connect(std::string name) {
  absl::MutexLock lock(&mutex_);
  if (connected_) {
    TellOf(name, absl::StrCat("is refused: there is one already, \"", *connected_, "\""));
    return absl::FailedPreconditionError(absl::StrCat("topology provider \"", name, "\": there is ",
                                                      "one already, \"", *connected_, "\""));
  }
  TellOf(name, "has come");
  connected_ = std::move(name);
  return std::make_unique<Session>(shared_from_this());
}

absl::Status ProviderSource::Check(const Topology& topology) {
  std::shared_ptr<const Machine> machine;
  {
    absl::MutexLock lock(&mutex_);
    machine = machine_;
  }
  return machine == nullptr ? Validate(topology, nullptr) : CheckAgainst(topology, *machine);
}

absl::Status ProviderSource::Take(Topology topology) {
  const absl::Status fits = Check(topology);
  {
    absl::MutexLock lock(&mutex_);
    if (!fits.ok()) {
      TellOf(*connected_, absl::StrCat("has its topology refused: ", fits.message()));
      return fits;
    }
    const bool is_known = topology_ == topology && author_ == *connected_ && !gone_;
    topology_ = std::move(topology);
    author_ = *connected_;
    gone_.reset();
    kept_.is_in_use = false;
    if (!is_known) Keep();
    ++pushes_.taken;
  }
  Poke();
  return absl::OkStatus();
}

std::string ProviderSource::AwaitOutcome() {
  absl::MutexLock lock(&mutex_);
  const int64_t push = pushes_.taken;
  const auto is_decided = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return pushes_.decided >= push;
  };
  if (mutex_.AwaitWithTimeout(absl::Condition(&is_decided), kMostWait)) return pushes_.hindrance;
  return absl::StrCat("not yet in force: the machine has not been looked at for ",
                      absl::FormatDuration(kMostWait));
}

void ProviderSource::TakeOutcome(const std::string& hindrance) {
  absl::MutexLock lock(&mutex_);
  if (pushes_.decided < pushes_.looked_at && !hindrance.empty() && connected_) {
    TellOf(*connected_, absl::StrCat("has a topology that isn't in force: ", hindrance));
  }
  pushes_.decided = pushes_.looked_at;
  pushes_.hindrance = hindrance;
}

void ProviderSource::Disconnect() {
  {
    absl::MutexLock lock(&mutex_);
    // A provider that never pushed leaves nothing behind.
    if (topology_ && !gone_) {
      gone_ = absl::Now();
      Keep();
    }
    TellOf(*connected_, "has ended");
    connected_.reset();
  }
  Poke();
}

void ProviderSource::Keep() {
  if (!keeper_ || !topology_) return;
  const absl::Status stored =
      keeper_->Store({.author = author_, .gone = gone_, .topology = *topology_});
  kept_.fault = std::string(stored.message());
}

void ProviderSource::Drop() {
  topology_.reset();
  gone_.reset();
  kept_.is_in_use = false;
  kept_.fault.clear();
  // If that fails, its time is over by the next start anyway.
  if (keeper_) keeper_->Forget().IgnoreError();
}

bool ProviderSource::ForgetKept() {
  absl::MutexLock lock(&mutex_);
  if (!kept_.is_in_use) return false;
  TellOf(author_,
         "gave the previous daemon a topology that can't be used now: the kernel's is used");
  Drop();
  return true;
}

void ProviderSource::Poke() {
  const uint64_t one = 1;
  while (write(poke_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

bool ProviderSource::Heard() {
  uint64_t count = 0;
  return read(poke_.get(), &count, sizeof(count)) > 0;
}

SourceView ProviderSource::Look(const Machine& machine) {
  auto copy = std::make_shared<const Machine>(machine);
  absl::MutexLock lock(&mutex_);
  pushes_.looked_at = pushes_.taken;
  const bool is_first = machine_ == nullptr;
  machine_ = std::move(copy);
  SourceView view;
  if (gone_ && absl::Now() >= *gone_ + hold_) {
    TellOf(author_, absl::StrCat("has been gone for ", absl::FormatDuration(hold_),
                                 ": the kernel's topology is used again"));
    Drop();
  }
  // An earlier daemon's topology is not in force yet, so nothing has to stay in place.
  if (is_first && kept_.is_in_use && !CheckAgainst(*topology_, machine).ok()) {
    TellOf(author_,
           "gave the previous daemon a topology that no longer fits the machine: the kernel's "
           "topology is used");
    Drop();
  }
  if (!topology_) return view;
  view.topology = topology_;
  view.status = Annotate(CheckAgainst(*topology_, machine),
                         absl::StrCat("topology provider \"", author_, "\""));
  if (!kept_.fault.empty()) {
    view.trouble = absl::StrCat("topology provider \"", author_,
                                "\": its topology will not outlive the daemon: ", kept_.fault);
  }
  if (gone_) {
    view.again = *gone_ + hold_;
    view.trouble = absl::StrCat("topology provider \"", author_, "\" is gone: its topology stays ",
                                "until ", absl::FormatTime(view.again, absl::UTCTimeZone()),
                                " unless one comes; then the kernel's is used");
  }
  return view;
}

}  // namespace plimsoll::topology
