#include "topology/source_provider.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::topology {

absl::StatusOr<std::shared_ptr<ProviderSource>> ProviderSource::Make(absl::Duration hold) {
  UniqueFd poke(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!poke.valid()) return ErrnoStatus(errno, "eventfd");
  return std::shared_ptr<ProviderSource>(new ProviderSource(hold, std::move(poke)));
}

absl::StatusOr<std::unique_ptr<ProviderSource::Session>> ProviderSource::Connect(std::string name) {
  absl::MutexLock lock(&mutex_);
  if (connected_) {
    return absl::FailedPreconditionError(absl::StrCat("topology provider \"", name, "\": there is ",
                                                      "one already, \"", *connected_, "\""));
  }
  connected_ = std::move(name);
  return std::make_unique<Session>(shared_from_this());
}

absl::Status ProviderSource::Take(Topology topology) {
  std::shared_ptr<const Machine> machine;
  {
    absl::MutexLock lock(&mutex_);
    machine = machine_;
  }
  if (machine != nullptr) {
    PLIMSOLL_RETURN_IF_ERROR(CheckAgainst(topology, *machine));
  } else {
    PLIMSOLL_RETURN_IF_ERROR(ZoneTree::Build(topology).status());
  }
  {
    absl::MutexLock lock(&mutex_);
    topology_ = std::move(topology);
    author_ = *connected_;
    gone_.reset();
  }
  Poke();
  return absl::OkStatus();
}

void ProviderSource::Disconnect() {
  {
    absl::MutexLock lock(&mutex_);
    // One that never pushed leaves nothing behind.
    if (topology_ && !gone_) gone_ = absl::Now();
    connected_.reset();
  }
  Poke();
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
  machine_ = std::move(copy);
  SourceView view;
  if (gone_ && absl::Now() >= *gone_ + hold_) {
    topology_.reset();
    gone_.reset();
  }
  if (!topology_) return view;
  view.topology = topology_;
  view.status = Annotate(CheckAgainst(*topology_, machine),
                         absl::StrCat("topology provider \"", author_, "\""));
  if (gone_) {
    view.again = *gone_ + hold_;
    view.trouble = absl::StrCat("topology provider \"", author_, "\" is gone: its topology stays ",
                                "until ", absl::FormatTime(view.again, absl::UTCTimeZone()),
                                " unless one comes; then the kernel's is used");
  }
  return view;
}

}  // namespace plimsoll::topology
