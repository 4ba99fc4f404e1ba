// Places for connections: how many a server has at once, and which gives way.
#ifndef PLIMSOLL_AGENT_API_CONNECTION_PLACES_H_
#define PLIMSOLL_AGENT_API_CONNECTION_PLACES_H_

#include <cstddef>
#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/connection.h"
#include "base/steady_time.h"

namespace plimsoll::agent {

// A full server closes the connection that has been idle the longest, once that was long enough: a
// client may be about to send. Streams without an end have fewer places than there are,
// so that they never keep out the calls that end. Thread-safe.
class ConnectionPlaces {
 public:
  ConnectionPlaces(size_t connections, size_t streams, absl::Duration idle_enough)
      : connections_(connections), streams_(streams), idle_enough_(idle_enough) {}

  // Waits for a place. False: the server stops.
  bool Enter();
  void Leave();
  // Ends the waits of Enter, now and later.
  void Stop();

  // Marks the connection idle for this object's life.
  class Idle {
   public:
    Idle(ConnectionPlaces* places, const Connection* connection);
    ~Idle();
    Idle(const Idle&) = delete;
    Idle& operator=(const Idle&) = delete;

   private:
    ConnectionPlaces* const places_;
    const Connection* const connection_;
  };

  // False: all places of streams are taken.
  bool BeginStream();
  void EndStream();

 private:
  struct IdleSince {
    const Connection* connection;
    SteadyTime since;
  };
  // Closes what has been idle long enough. Returns how long until the next one will have been.
  absl::Duration MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t connections_;
  const size_t streams_;
  const absl::Duration idle_enough_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  size_t entered_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t streaming_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<IdleSince> idle_ ABSL_GUARDED_BY(mutex_);  // the longest first
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_API_CONNECTION_PLACES_H_
