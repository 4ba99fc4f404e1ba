#include "image/shared_pulls.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/status.h"

namespace plimsoll::image {
namespace {

constexpr absl::Duration kCallerAskInterval = absl::Milliseconds(100);
constexpr size_t kMaxNews = 64;  // a slow reader misses some

}  // namespace

// The SharedPulls' mutex_ guards all members of both, unless noted otherwise.
struct SharedPulls::Listener {
  std::vector<Progress> news;
};

struct SharedPulls::Flight {
  std::set<Listener*> listeners;  // one for each caller
  std::optional<Progress> latest;
  bool done = false;
  absl::StatusOr<Image> result = absl::UnknownError("");  // constant once done
  std::atomic<bool> abandoned = false;                    // no lock needed
  std::thread thread;
};

absl::StatusOr<Image> SharedPulls::Join(const Caller& caller, Work work) {
  if (caller.cancelled && caller.cancelled()) {
    return absl::CancelledError(absl::StrCat(caller.what, ": cancelled"));
  }
  Listener listener;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::shared_ptr<Flight> flight,
                            FindOrStart(caller, std::move(work), &listener));
  const absl::Status given_up = Await(*flight, caller, &listener);
  Leave(flight, caller, &listener);
  if (!given_up.ok()) return given_up;
  return flight->result;
}

absl::StatusOr<std::shared_ptr<SharedPulls::Flight>> SharedPulls::FindOrStart(const Caller& caller,
                                                                              Work work,
                                                                              Listener* listener) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<Flight>& flight = flights_[caller.key];
  if (flight == nullptr) {
    auto started = std::make_shared<Flight>();
    try {
      // The thread waits for this lock before it reports anything.
      started->thread = std::thread(
          [this, started, key = caller.key, work = std::move(work)] { Run(started, key, work); });
    } catch (const std::system_error& error) {
      flights_.erase(caller.key);
      return absl::ResourceExhaustedError(
          absl::StrCat(caller.what, ": start a thread: ", error.what()));
    }
    flight = std::move(started);
  }
  flight->listeners.insert(listener);
  if (flight->latest.has_value()) listener->news.push_back(*flight->latest);
  return flight;
}

void SharedPulls::Run(const std::shared_ptr<Flight>& flight, const std::vector<std::string>& key,
                      const Work& work) {
  absl::StatusOr<Image> result =
      work([flight] { return flight->abandoned.load(); },
           [this, flight](const Progress& progress) { Publish(*flight, progress); });
  absl::MutexLock lock(&mutex_);
  flight->result = std::move(result);
  flight->done = true;
  // Later callers start again. An abandoned one is out of the list already.
  const auto it = flights_.find(key);
  if (it != flights_.end() && it->second == flight) flights_.erase(it);
}

void SharedPulls::Publish(Flight& flight, const Progress& progress) {
  absl::MutexLock lock(&mutex_);
  flight.latest = progress;
  for (Listener* listener : flight.listeners) {
    if (listener->news.size() < kMaxNews) {
      listener->news.push_back(progress);
    } else {
      listener->news.back() = progress;
    }
  }
}

bool SharedPulls::NextNews(const Flight& flight, Listener* listener, absl::Duration at_most,
                           std::vector<Progress>* news) {
  const auto has_some = [&flight, listener] { return flight.done || !listener->news.empty(); };
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&has_some), at_most);
  news->swap(listener->news);
  return flight.done;
}

absl::Status SharedPulls::Await(const Flight& flight, const Caller& caller, Listener* listener) {
  while (true) {
    std::vector<Progress> news;
    const bool done = NextNews(
        flight, listener, std::min(caller.deadline - MonotonicNow(), kCallerAskInterval), &news);
    if (caller.progress) {
      for (const Progress& progress : news) caller.progress(progress);
    }
    if (done) return absl::OkStatus();
    if (caller.cancelled && caller.cancelled()) {
      return absl::CancelledError(absl::StrCat(caller.what, ": cancelled"));
    }
    if (MonotonicNow() >= caller.deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat(caller.what, ": not done after ", absl::FormatDuration(caller.timeout)));
    }
  }
}

void SharedPulls::Leave(const std::shared_ptr<Flight>& flight, const Caller& caller,
                        Listener* listener) {
  std::thread last;
  {
    absl::MutexLock lock(&mutex_);
    flight->listeners.erase(listener);
    if (!flight->listeners.empty()) return;
    flight->abandoned = true;
    const auto it = flights_.find(caller.key);
    if (it != flights_.end() && it->second == flight) flights_.erase(it);
    last = std::move(flight->thread);
  }
  last.join();
}

}  // namespace plimsoll::image
