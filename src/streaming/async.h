// The room's tools on top of Asio: coroutines in the single thread of the server's loop.
//
// Everything here is used in that thread. A Signal wakes a waiting coroutine, which then checks its
// condition again.
#ifndef PLIMSOLL_STREAMING_ASYNC_H_
#define PLIMSOLL_STREAMING_ASYNC_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "base/worker_pool.h"

namespace plimsoll::streaming {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

// Wakes all waiters. A notification is not remembered: `while (!there) co_await signal.Wait();`
class Signal {
 public:
  explicit Signal(asio::io_context& io) : timer_(io) {
    timer_.expires_at(asio::steady_timer::time_point::max());
  }
  void Notify() { timer_.cancel(); }
  asio::awaitable<void> Wait() {
    ErrorCode ignored;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  // Waits like Wait, for `limit` at most. Wakes other waiters too.
  asio::awaitable<void> WaitFor(absl::Duration limit) {
    timer_.expires_after(absl::ToChronoNanoseconds(limit));
    co_await Wait();
    timer_.expires_at(asio::steady_timer::time_point::max());
  }

 private:
  asio::steady_timer timer_;
};

// A sleep that can be cut short.
class Sleep {
 public:
  explicit Sleep(asio::io_context& io) : timer_(io) {}
  // False if it was cut short.
  asio::awaitable<bool> For(absl::Duration duration) {
    if (over_) co_return false;
    timer_.expires_after(absl::ToChronoNanoseconds(duration));
    ErrorCode error;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }
  // Ends this sleep and each later one.
  void End() {
    over_ = true;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  bool over_ = false;
};

// A descriptor to wait for; reading and writing is left to the caller. Non-blocking from now on.
class AsyncFd {
 public:
  AsyncFd(asio::io_context& io, UniqueFd fd) : descriptor_(io) {
    if (!fd.valid()) return;
    ErrorCode error;
    descriptor_.assign(fd.get(), error);
    failed_ = static_cast<bool>(error);
    if (failed_) return;  // no memory in the kernel: treat it as closed
    fd.Release();
    descriptor_.non_blocking(true, error);
  }
  bool open() const { return descriptor_.is_open(); }
  // A descriptor was given, but the kernel can't wait for it.
  bool failed() const { return failed_; }
  int fd() { return descriptor_.native_handle(); }
  // Both return at once after Cancel or Close, and without a descriptor.
  asio::awaitable<void> Readable() { return Wait(asio::posix::descriptor_base::wait_read); }
  asio::awaitable<void> Writable() { return Wait(asio::posix::descriptor_base::wait_write); }
  // Wakes the current waiters.
  void Cancel() {
    ErrorCode ignored;
    descriptor_.cancel(ignored);
  }
  void Close() {
    ErrorCode ignored;
    descriptor_.close(ignored);
  }

 private:
  asio::awaitable<void> Wait(asio::posix::descriptor_base::wait_type what) {
    if (!open()) co_return;
    ErrorCode ignored;
    co_await descriptor_.async_wait(what, asio::redirect_error(asio::use_awaitable, ignored));
  }

  asio::posix::stream_descriptor descriptor_;
  bool failed_ = false;
};

// Runs coroutines whose owner joins them before what they use is destroyed.
class Tasks {
 public:
  explicit Tasks(asio::io_context& io) : io_(io), ended_(io) {}
  void Spawn(asio::awaitable<void> task) {
    ++running_;
    asio::co_spawn(io_, std::move(task), [this](const std::exception_ptr&) {
      --running_;
      ended_.Notify();
    });
  }
  asio::awaitable<void> Join() {
    while (running_ > 0) co_await ended_.Wait();
  }

 private:
  asio::io_context& io_;
  Signal ended_;
  int running_ = 0;
};

// Runs `work` in a thread of the pool and returns in the loop's. RESOURCE_EXHAUSTED if the pool is
// full. Result: a StatusOr.
template <typename Result>
asio::awaitable<Result> RunBlocking(asio::io_context& io, WorkerPool& pool,
                                    std::function<Result()> work) {
  struct State {
    explicit State(asio::io_context& loop) : done(loop) {}
    Signal done;
    std::unique_ptr<Result> result;
  };
  auto state = std::make_shared<State>(io);
  // The thread hands over its finished result: only the loop touches `state`.
  const bool scheduled = pool.TrySchedule([&io, state, work = std::move(work)]() mutable {
    auto result = std::make_shared<Result>(work());
    asio::post(io, [state = std::move(state), result = std::move(result)] {
      state->result = std::make_unique<Result>(std::move(*result));
      state->done.Notify();
    });
  });
  if (!scheduled) {
    co_return absl::ResourceExhaustedError(
        "too many streams are being opened or closed at once; try again later");
  }
  while (state->result == nullptr) co_await state->done.Wait();
  co_return std::move(*state->result);
}

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_ASYNC_H_
