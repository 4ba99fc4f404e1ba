#include "systemd/bus.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "systemd/sd_bus.h"

namespace plimsoll::systemd {
namespace {

constexpr char kService[] = "org.freedesktop.systemd1";
constexpr char kObject[] = "/org/freedesktop/systemd1";
constexpr char kManager[] = "org.freedesktop.systemd1.Manager";
constexpr absl::Duration kRetry = absl::Milliseconds(100);
// systemd writes values when it is otherwise idle, soon after it announces or finishes a reload.
constexpr absl::Duration kWrites = absl::Seconds(3);
constexpr absl::Duration kLook = absl::Milliseconds(100);

absl::StatusCode CodeOf(absl::string_view name) {
  const auto is = [&](const char* other) { return name == other; };
  if (is("org.freedesktop.systemd1.NoSuchUnit")) return absl::StatusCode::kNotFound;
  if (is("org.freedesktop.systemd1.UnitExists")) return absl::StatusCode::kAlreadyExists;
  if (is(SD_BUS_ERROR_ACCESS_DENIED)) return absl::StatusCode::kPermissionDenied;
  if (is(SD_BUS_ERROR_LIMITS_EXCEEDED) || is(SD_BUS_ERROR_NO_MEMORY)) {
    return absl::StatusCode::kResourceExhausted;
  }
  if (is(SD_BUS_ERROR_INVALID_ARGS) || is(SD_BUS_ERROR_UNKNOWN_PROPERTY) ||
      is(SD_BUS_ERROR_PROPERTY_READ_ONLY)) {
    return absl::StatusCode::kInvalidArgument;
  }
  // systemd is re-executing itself, or the bus is restarting.
  if (is(SD_BUS_ERROR_SERVICE_UNKNOWN) || is(SD_BUS_ERROR_NAME_HAS_NO_OWNER) ||
      is(SD_BUS_ERROR_NO_REPLY) || is(SD_BUS_ERROR_DISCONNECTED) || is(SD_BUS_ERROR_TIMEOUT) ||
      is(SD_BUS_ERROR_NO_SERVER) || absl::StrContains(name, ".Spawn.")) {
    return absl::StatusCode::kUnavailable;
  }
  return absl::StatusCode::kInternal;
}

absl::Status Lost(absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("no connection to systemd over D-Bus: ", why));
}

// The listener to systemd writing its units' values again, and its time. Thread-safe.
class RewriteListener {
 public:
  void Set(std::function<void()> rewritten) {
    absl::MutexLock lock(&listener_mutex_);
    rewritten_ = std::move(rewritten);
  }

  // Values may be written from now on, for a while.
  void Expect() {
    absl::MutexLock lock(&mutex_);
    look_until_ = absl::Now() + kWrites;
  }

  // Calls the listener if it is time, and returns when it is next. For one thread.
  absl::Time TellIfDue() {
    const absl::Time now = absl::Now();
    absl::Time until;
    {
      absl::MutexLock lock(&mutex_);
      until = look_until_;
    }
    if (now > until) return next_look_ = absl::InfiniteFuture();
    if (next_look_ != absl::InfiniteFuture() && now < next_look_) return next_look_;
    next_look_ = now + kLook;
    absl::MutexLock lock(&listener_mutex_);
    if (rewritten_) rewritten_();
    return next_look_;
  }

 private:
  absl::Time next_look_ = absl::InfiniteFuture();  // the telling thread's
  absl::Mutex listener_mutex_;                     // held while it runs
  std::function<void()> rewritten_ ABSL_GUARDED_BY(listener_mutex_);
  absl::Mutex mutex_;
  absl::Time look_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

class SdBus final : public Bus {
 public:
  SdBus(std::string address, absl::Duration patience)
      : address_(std::move(address)),
        patience_(patience),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { Run(); }) {}

  ~SdBus() override {
    {
      absl::MutexLock lock(&mutex_);
      ending_ = true;
    }
    Wake();
    thread_.join();
  }

  absl::Status Call(const BusCall& call) override {
    return Annotate(CallUntil(call, absl::Now() + patience_), absl::StrCat("systemd: ", call.what));
  }

  absl::Status CallPatiently(const BusCall& call) override {
    const absl::Time deadline = absl::Now() + patience_;
    absl::Status status = CallUntil(call, deadline);
    while (absl::IsUnavailable(status) && absl::Now() + kRetry < deadline) {
      absl::SleepFor(kRetry);
      status = CallUntil(call, deadline);
    }
    return Annotate(status, absl::StrCat("systemd: ", call.what));
  }

  void Listen(std::function<void()> rewritten) override { rewrites_.Set(std::move(rewritten)); }

  void Expect() override {
    rewrites_.Expect();
    Wake();
  }

 private:
  struct Pending {
    BusCall call;
    absl::Time deadline;
    SdBus* bus = nullptr;
    sd_bus_slot* slot = nullptr;  // used by the bus thread, as the next; null: answered, or not
                                  // sent
    std::string job;
    bool done = false;  // under mutex_, as the next
    absl::Status result;
  };
  using Request = std::shared_ptr<Pending>;

  absl::Status CallUntil(const BusCall& call, absl::Time deadline) {
    const auto request = std::make_shared<Pending>();
    request->call = call;
    request->deadline = deadline;
    request->bus = this;
    {
      absl::MutexLock lock(&mutex_);
      queue_.push_back(request);
    }
    Wake();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&request->done));
    return request->result;
  }

  void Wake() const {
    const uint64_t one = 1;
    // Fails only if the thread is awake anyway.
    static_cast<void>(!write(wake_.get(), &one, sizeof(one)));
  }

  // The rest runs in the bus thread.

  void Run() {
    for (;;) {
      std::deque<Request> queue;
      bool ending;
      {
        absl::MutexLock lock(&mutex_);
        queue.swap(queue_);
        ending = ending_;
      }
      for (const Request& request : queue) {
        under_way_[request.get()] = request;
        if (!ending) Send(request.get());
      }
      if (ending) return Close(Lost("the daemon ends"));
      Process();
      Expire();
      Wait(rewrites_.TellIfDue());
    }
  }

  void Finish(Pending* pending, const absl::Status& result) {
    const auto at = under_way_.find(pending);
    if (at == under_way_.end()) return;
    const Request kept = at->second;
    under_way_.erase(at);
    jobs_.erase(pending->job);
    pending->slot = sd_bus_slot_unref(pending->slot);
    absl::MutexLock lock(&mutex_);
    pending->result = result;
    pending->done = true;
  }

  int Open() {
    sd_bus* bus = nullptr;
    int r = sd_bus_new(&bus);
    const absl::Cleanup unref = [&bus] { sd_bus_close_unref(bus); };
    if (r >= 0) r = sd_bus_set_description(bus, "plimsolld");
    if (r >= 0) r = sd_bus_set_address(bus, address_.c_str());
    if (r >= 0) r = sd_bus_set_bus_client(bus, 1);
    if (r >= 0) r = sd_bus_start(bus);
    if (r >= 0) r = Match(bus, kService, kManager, "JobRemoved", &SdBus::OnJobRemoved);
    if (r >= 0) r = Match(bus, kService, kManager, "Reloading", &SdBus::OnReloading);
    if (r >= 0) {
      r = sd_bus_add_match_async(bus, nullptr,
                                 "type='signal',sender='org.freedesktop.DBus',"
                                 "interface='org.freedesktop.DBus',member='NameOwnerChanged',"
                                 "arg0='org.freedesktop.systemd1'",
                                 &SdBus::OnOwnerChanged, nullptr, this);
    }
    // Without it systemd sends no job signals.
    if (r >= 0) r = Subscribe(bus);
    if (r < 0) return r;
    bus_ = std::exchange(bus, nullptr);
    return 0;
  }

  int Match(sd_bus* bus, const char* sender, const char* interface, const char* member,
            sd_bus_message_handler_t handler) {
    return sd_bus_match_signal_async(bus, nullptr, sender, kObject, interface, member, handler,
                                     nullptr, this);
  }

  static int Subscribe(sd_bus* bus) {
    return sd_bus_call_method_async(bus, nullptr, kService, kObject, kManager, "Subscribe", nullptr,
                                    nullptr, nullptr);
  }

  // Ends all calls under way with `why`.
  void Close(const absl::Status& why) {
    while (!under_way_.empty()) Finish(under_way_.begin()->first, why);
    bus_ = sd_bus_close_unref(bus_);
  }

  void Send(Pending* pending) {
    if (bus_ == nullptr) {
      if (const int r = Open(); r < 0) {
        return Finish(pending, Lost(ErrnoStatus(-r, address_).message()));
      }
    }
    const int r = SendMessage(pending);
    if (r >= 0) return;
    Finish(pending, ErrnoStatus(-r, "make a message for systemd"));
  }

  int SendMessage(Pending* pending) {
    sd_bus_message* message = nullptr;
    const absl::Cleanup unref = [&message] { sd_bus_message_unref(message); };
    const BusCall& call = pending->call;
    int r = sd_bus_message_new_method_call(bus_, &message, kService, kObject,
                                           call.interface.c_str(), call.member.c_str());
    if (r >= 0 && call.append) r = call.append(message);
    // This thread handles the deadlines, of jobs too.
    if (r >= 0) {
      r = sd_bus_call_async(bus_, &pending->slot, message, &SdBus::OnReply, pending, UINT64_MAX);
    }
    return r;
  }

  static int OnReply(sd_bus_message* message, void* userdata, sd_bus_error*) {
    auto* pending = static_cast<Pending*>(userdata);
    SdBus* bus = pending->bus;
    if (sd_bus_message_is_method_error(message, nullptr) > 0) {
      const sd_bus_error* error = sd_bus_message_get_error(message);
      const absl::string_view name = error->name == nullptr ? "" : error->name;
      const absl::string_view text = error->message == nullptr ? "" : error->message;
      bus->Finish(pending, absl::Status(CodeOf(name), absl::StrCat(text, " (", name, ")")));
      return 0;
    }
    int r = 0;
    if (pending->call.awaits_job) {
      const char* job = nullptr;
      r = sd_bus_message_read(message, "o", &job);
      if (r >= 0) {
        pending->job = job;
        pending->slot = sd_bus_slot_unref(pending->slot);
        bus->jobs_[pending->job] = pending;
        return 0;
      }
    } else if (pending->call.read) {
      r = pending->call.read(message);
    }
    bus->Finish(pending, r < 0 ? ErrnoStatus(-r, "read systemd's answer") : absl::OkStatus());
    return 0;
  }

  static int OnJobRemoved(sd_bus_message* message, void* userdata, sd_bus_error*) {
    auto* bus = static_cast<SdBus*>(userdata);
    uint32_t id = 0;
    const char* job = nullptr;
    const char* unit = nullptr;
    const char* result = nullptr;
    if (sd_bus_message_read(message, "uoss", &id, &job, &unit, &result) < 0) return 0;
    const auto at = bus->jobs_.find(job);
    if (at == bus->jobs_.end()) return 0;
    const absl::string_view text = result;
    const bool done = text == "done" || text == "skipped";
    bus->Finish(at->second, done ? absl::OkStatus()
                                 : absl::InternalError(absl::StrCat(
                                       "its job ended as \"", text,
                                       "\"; systemd's log says why (journalctl -u ", unit, ")")));
    return 0;
  }

  static int OnReloading(sd_bus_message* message, void* userdata, sd_bus_error*) {
    int begins = 0;
    if (sd_bus_message_read(message, "b", &begins) >= 0 && begins == 0) {
      static_cast<SdBus*>(userdata)->Expect();
    }
    return 0;
  }

  // systemd has re-executed itself: on the bus it is a new client without our subscription, and has
  // forgotten the calls under way.
  static int OnOwnerChanged(sd_bus_message* message, void* userdata, sd_bus_error*) {
    auto* bus = static_cast<SdBus*>(userdata);
    const char* name = nullptr;
    const char* before = nullptr;
    const char* now = nullptr;
    if (sd_bus_message_read(message, "sss", &name, &before, &now) < 0) return 0;
    if (*now == '\0') return 0;
    if (bus->bus_ != nullptr) static_cast<void>(Subscribe(bus->bus_));
    std::vector<Pending*> waiting;
    for (const auto& [job, pending] : bus->jobs_) waiting.push_back(pending);
    for (Pending* pending : waiting) bus->Finish(pending, Lost("systemd was executed again"));
    bus->Expect();
    return 0;
  }

  void Process() {
    while (bus_ != nullptr) {
      const int r = sd_bus_process(bus_, nullptr);
      if (r < 0) return Close(Lost(ErrnoStatus(-r, address_).message()));
      if (r == 0) return;
    }
  }

  void Expire() {
    const absl::Time now = absl::Now();
    std::vector<Pending*> late;
    for (const auto& [pending, kept] : under_way_) {
      if (pending->deadline <= now) late.push_back(pending);
    }
    for (Pending* pending : late) {
      Finish(pending, absl::DeadlineExceededError(
                          absl::StrCat(pending->job.empty() ? "no answer" : "its job did not end",
                                       " in ", absl::FormatDuration(patience_))));
    }
  }

  // Until something comes, or until then.
  void Wait(absl::Time until) {
    for (const auto& [pending, kept] : under_way_) until = std::min(until, pending->deadline);
    pollfd fds[2] = {{wake_.get(), POLLIN, 0}, {-1, 0, 0}};
    if (bus_ != nullptr) {
      fds[1] = {sd_bus_get_fd(bus_), static_cast<short>(sd_bus_get_events(bus_)), 0};
      uint64_t monotonic = UINT64_MAX;
      if (sd_bus_get_timeout(bus_, &monotonic) >= 0 && monotonic != UINT64_MAX) {
        until = std::min(until, FromMonotonic(monotonic));
      }
    }
    int milliseconds = -1;
    if (until != absl::InfiniteFuture()) {
      const absl::Duration left = std::max(until - absl::Now(), absl::ZeroDuration());
      milliseconds = static_cast<int>(absl::ToInt64Milliseconds(
          absl::Ceil(std::min(left, absl::Minutes(1)), absl::Milliseconds(1))));
    }
    if (poll(fds, 2, milliseconds) <= 0) return;
    uint64_t unused;
    static_cast<void>(!read(wake_.get(), &unused, sizeof(unused)));
  }

  static absl::Time FromMonotonic(uint64_t microseconds) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return absl::Now() + absl::Microseconds(static_cast<int64_t>(microseconds)) -
           absl::DurationFromTimespec(now);
  }

  const std::string address_;
  const absl::Duration patience_;
  const UniqueFd wake_;
  // Used by the bus thread.
  sd_bus* bus_ = nullptr;
  std::map<Pending*, Request> under_way_;
  std::map<std::string, Pending*> jobs_;  // by D-Bus path

  RewriteListener rewrites_;
  absl::Mutex mutex_;
  std::deque<Request> queue_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last
};

}  // namespace

std::unique_ptr<Bus> Bus::Make(const std::string& address, absl::Duration patience) {
  return std::make_unique<SdBus>(address, patience);
}

}  // namespace plimsoll::systemd
