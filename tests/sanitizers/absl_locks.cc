// Informs the thread sanitizer of Abseil's locks. Debian's Abseil is built without the sanitizer,
// which therefore sees neither the holder of a Mutex nor the order that a Notification makes, and
// reports everything they guard as a race.
//
// Each function here stands in front of the library's function of the same name (a program's
// symbols come before those of its libraries, and calls that gRPC and Abseil make among themselves
// are resolved by name too), reports the action, and calls it. This goes into every program of the
// preset `tsan` and into nothing else.
//
// A lock that a library (gRPC) takes is reported as an order, not as a lock: gRPC hands new memory
// to its threads by atomic operations, which the sanitizer doesn't see in a library, so a lock
// inside that memory would itself look like a race.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace {

// Abseil's functions may call each other: only the outermost call is reported.
thread_local bool inside = false;

class Outermost {
 public:
  Outermost() : is_(!inside) { inside = true; }
  ~Outermost() {
    if (is_) inside = false;
  }
  explicit operator bool() const { return is_; }

 private:
  const bool is_;
};

extern "C" const char __executable_start;  // the linker's
extern "C" const char etext;

// The locks that the program itself, not a library, has taken in this thread. An unlock's caller
// can't tell which: a library's last call is a jump, and seems to come from the library's own
// caller.
class Taken {
 public:
  static bool BySelf(const void* caller) {
    return caller >= &__executable_start && caller < &etext;
  }
  // `flags`: __tsan_mutex_read_lock for a reader's lock, else 0.
  static void Add(const absl::Mutex* mutex, unsigned flags) {
    if (count == kMost) {
      std::fputs("absl_locks: a thread holds too many locks\n", stderr);
      std::abort();
    }
    locks[count++] = {mutex, flags};
  }
  static bool Has(const absl::Mutex* mutex) { return Find(mutex) >= 0; }
  static unsigned FlagsOf(const absl::Mutex* mutex) {
    const int place = Find(mutex);
    return place < 0 ? 0 : locks[place].flags;
  }
  static void Remove(const absl::Mutex* mutex) {
    locks[Find(mutex)] = locks[count - 1];
    --count;
  }

 private:
  struct Lock {
    const absl::Mutex* mutex;
    unsigned flags;
  };
  static constexpr int kMost = 256;
  static int Find(const absl::Mutex* mutex) {
    for (int i = count - 1; i >= 0; --i) {
      if (locks[i].mutex == mutex) return i;
    }
    return -1;
  }
  static thread_local Lock locks[kMost];
  static thread_local int count;
};
thread_local Taken::Lock Taken::locks[Taken::kMost];
thread_local int Taken::count = 0;

// Reports the start and the end of taking a lock; in between the sanitizer ignores everything, also
// a Condition's evaluation.
class Acquiring {
 public:
  Acquiring(absl::Mutex* mutex, unsigned flags, const void* caller)
      : ours_(Taken::BySelf(caller)), mutex_(mutex), flags_(flags) {
    if (told_ && ours_) __tsan_mutex_pre_lock(mutex_, flags_);
  }
  ~Acquiring() {
    if (!told_) return;
    const bool taken = (flags_ & __tsan_mutex_try_lock_failed) == 0;
    if (ours_) {
      __tsan_mutex_post_lock(mutex_, flags_, 0);
      if (taken) Taken::Add(mutex_, flags_ & __tsan_mutex_read_lock);
    } else if (taken) {
      __tsan_acquire(mutex_);
    }
  }
  void Failed() { flags_ |= __tsan_mutex_try_lock_failed; }

 private:
  const Outermost told_;
  const bool ours_;
  absl::Mutex* const mutex_;
  unsigned flags_;
};

class Releasing {
 public:
  Releasing(absl::Mutex* mutex, unsigned flags)
      : ours_(Taken::Has(mutex)), mutex_(mutex), flags_(flags) {
    if (!told_) return;
    if (ours_) {
      Taken::Remove(mutex_);
      __tsan_mutex_pre_unlock(mutex_, flags_);
    } else {
      __tsan_release(mutex_);
    }
  }
  ~Releasing() {
    if (told_ && ours_) __tsan_mutex_post_unlock(mutex_, flags_);
  }

 private:
  const Outermost told_;
  const bool ours_;
  absl::Mutex* const mutex_;
  const unsigned flags_;
};

// A wait of a lock's writer or reader, which releases the lock and takes it again.
class Waiting {
 public:
  explicit Waiting(absl::Mutex* mutex)
      : ours_(Taken::Has(mutex)), mutex_(mutex), flags_(Taken::FlagsOf(mutex)) {
    if (!told_) return;
    if (!ours_) {
      __tsan_release(mutex_);
      return;
    }
    __tsan_mutex_pre_unlock(mutex_, flags_);
    __tsan_mutex_post_unlock(mutex_, flags_);
    __tsan_mutex_pre_lock(mutex_, flags_);
  }
  ~Waiting() {
    if (!told_) return;
    if (ours_) {
      __tsan_mutex_post_lock(mutex_, flags_, 0);
    } else {
      __tsan_acquire(mutex_);
    }
  }

 private:
  const Outermost told_;
  const bool ours_;
  absl::Mutex* const mutex_;
  const unsigned flags_;
};

template <typename Function>
Function* Next(const char* symbol) {
  void* const address = dlsym(RTLD_NEXT, symbol);
  if (address == nullptr) {
    std::fprintf(stderr, "absl_locks: the library has no %s\n", symbol);
    std::abort();
  }
  return reinterpret_cast<Function*>(address);
}

}  // namespace

// `next` is the library's function behind this one; MANGLED is the part of its name after the
// namespace. A member function is called by the ABI's rule, the object first.
#define PLIMSOLL_NEXT(MANGLED, ...) \
  static auto* const next = Next<__VA_ARGS__>("_ZN4absl7debian3" MANGLED)
#define PLIMSOLL_NEXT_CONST(MANGLED, ...) \
  static auto* const next = Next<__VA_ARGS__>("_ZNK4absl7debian3" MANGLED)

namespace absl {
ABSL_NAMESPACE_BEGIN

Mutex::~Mutex() {
  PLIMSOLL_NEXT("5MutexD1Ev", void(Mutex*));
  __tsan_mutex_destroy(this, __tsan_mutex_not_static);
  next(this);
}

void Mutex::Lock() {
  PLIMSOLL_NEXT("5Mutex4LockEv", void(Mutex*));
  const Acquiring told(this, 0, __builtin_return_address(0));
  next(this);
}

void Mutex::Unlock() {
  PLIMSOLL_NEXT("5Mutex6UnlockEv", void(Mutex*));
  const Releasing told(this, 0);
  next(this);
}

bool Mutex::TryLock() {
  PLIMSOLL_NEXT("5Mutex7TryLockEv", bool(Mutex*));
  Acquiring told(this, __tsan_mutex_try_lock, __builtin_return_address(0));
  const bool locked = next(this);
  if (!locked) told.Failed();
  return locked;
}

void Mutex::ReaderLock() {
  PLIMSOLL_NEXT("5Mutex10ReaderLockEv", void(Mutex*));
  const Acquiring told(this, __tsan_mutex_read_lock, __builtin_return_address(0));
  next(this);
}

void Mutex::ReaderUnlock() {
  PLIMSOLL_NEXT("5Mutex12ReaderUnlockEv", void(Mutex*));
  const Releasing told(this, __tsan_mutex_read_lock);
  next(this);
}

bool Mutex::ReaderTryLock() {
  PLIMSOLL_NEXT("5Mutex13ReaderTryLockEv", bool(Mutex*));
  Acquiring told(this, __tsan_mutex_try_read_lock, __builtin_return_address(0));
  const bool locked = next(this);
  if (!locked) told.Failed();
  return locked;
}

// They return with the lock held, whatever became of the condition.

void Mutex::LockWhen(const Condition& condition) {
  PLIMSOLL_NEXT("5Mutex8LockWhenERKNS0_9ConditionE", void(Mutex*, const Condition&));
  const Acquiring told(this, 0, __builtin_return_address(0));
  next(this, condition);
}

bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  PLIMSOLL_NEXT("5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE",
                bool(Mutex*, const Condition&, Duration));
  const Acquiring told(this, 0, __builtin_return_address(0));
  return next(this, condition, timeout);
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  PLIMSOLL_NEXT("5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE",
                bool(Mutex*, const Condition&, Time));
  const Acquiring told(this, 0, __builtin_return_address(0));
  return next(this, condition, deadline);
}

void Mutex::ReaderLockWhen(const Condition& condition) {
  PLIMSOLL_NEXT("5Mutex14ReaderLockWhenERKNS0_9ConditionE", void(Mutex*, const Condition&));
  const Acquiring told(this, __tsan_mutex_read_lock, __builtin_return_address(0));
  next(this, condition);
}

bool Mutex::ReaderLockWhenWithTimeout(const Condition& condition, Duration timeout) {
  PLIMSOLL_NEXT("5Mutex25ReaderLockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE",
                bool(Mutex*, const Condition&, Duration));
  const Acquiring told(this, __tsan_mutex_read_lock, __builtin_return_address(0));
  return next(this, condition, timeout);
}

bool Mutex::ReaderLockWhenWithDeadline(const Condition& condition, Time deadline) {
  PLIMSOLL_NEXT("5Mutex26ReaderLockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE",
                bool(Mutex*, const Condition&, Time));
  const Acquiring told(this, __tsan_mutex_read_lock, __builtin_return_address(0));
  return next(this, condition, deadline);
}

void Mutex::Await(const Condition& condition) {
  PLIMSOLL_NEXT("5Mutex5AwaitERKNS0_9ConditionE", void(Mutex*, const Condition&));
  const Waiting told(this);
  next(this, condition);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  PLIMSOLL_NEXT("5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE",
                bool(Mutex*, const Condition&, Duration));
  const Waiting told(this);
  return next(this, condition, timeout);
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  PLIMSOLL_NEXT("5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE",
                bool(Mutex*, const Condition&, Time));
  const Waiting told(this);
  return next(this, condition, deadline);
}

// The Mutex of a CondVar orders everything: a signal needs no report.

void CondVar::Wait(Mutex* mutex) {
  PLIMSOLL_NEXT("7CondVar4WaitEPNS0_5MutexE", void(CondVar*, Mutex*));
  const Waiting told(mutex);
  next(this, mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  PLIMSOLL_NEXT("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE",
                bool(CondVar*, Mutex*, Duration));
  const Waiting told(mutex);
  return next(this, mutex, timeout);
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  PLIMSOLL_NEXT("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE", bool(CondVar*, Mutex*, Time));
  const Waiting told(mutex);
  return next(this, mutex, deadline);
}

// HasBeenNotified is inline, an acquiring load of notified_yet_, so Notify releases that.

void Notification::Notify() {
  PLIMSOLL_NEXT("12Notification6NotifyEv", void(Notification*));
  __tsan_release(&notified_yet_);
  next(this);
}

void Notification::WaitForNotification() const {
  PLIMSOLL_NEXT_CONST("12Notification19WaitForNotificationEv", void(const Notification*));
  next(this);
  __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  PLIMSOLL_NEXT_CONST("12Notification30WaitForNotificationWithTimeoutENS0_8DurationE",
                      bool(const Notification*, Duration));
  const bool notified = next(this, timeout);
  if (notified) __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
  return notified;
}

bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  PLIMSOLL_NEXT_CONST("12Notification31WaitForNotificationWithDeadlineENS0_4TimeE",
                      bool(const Notification*, Time));
  const bool notified = next(this, deadline);
  if (notified) __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
  return notified;
}

bool BlockingCounter::DecrementCount() {
  PLIMSOLL_NEXT("15BlockingCounter14DecrementCountEv", bool(BlockingCounter*));
  __tsan_release(&count_);
  const bool last = next(this);
  if (last) __tsan_acquire(&count_);
  return last;
}

void BlockingCounter::Wait() {
  PLIMSOLL_NEXT("15BlockingCounter4WaitEv", void(BlockingCounter*));
  next(this);
  __tsan_acquire(&count_);
}

ABSL_NAMESPACE_END
}  // namespace absl
