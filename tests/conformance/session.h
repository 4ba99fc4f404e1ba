// One run of the suite: the socket under test, and everything that the run makes beside it. There
// is one in a process, made by main() before the first test and closed after the last or on Ctrl-C.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_SESSION_H_
#define PLIMSOLL_TESTS_CONFORMANCE_SESSION_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "conformance/client.h"
#include "conformance/images.h"
#include "conformance/registry.h"

namespace plimsoll::conformance {

struct Options {
  std::string endpoint;        // empty: a runtime of the run's own
  std::string image_endpoint;  // empty: the same
  std::string image;           // of busybox's kind, for most tests; empty: one made here
  // Where the runtime under test expects a registry with this certificate; empty: none.
  std::string tls_registry;  // "127.0.0.1:5443"
  std::string tls_certificate;
  std::string tls_key;
  double patience = 1;  // by how much all time limits are longer than usual
};

// A runtime that lives as long as the run.
class OwnRuntime {
 public:
  virtual ~OwnRuntime() = default;  // ends it, with all that it still runs
  virtual std::string endpoint() const = 0;
  virtual std::string Log() const = 0;
};
// `insecure_registries`: those that it shall trust without TLS, or without knowing who vouches.
// `directory` is for files that it needs and goes after it.
using StartRuntime = std::function<absl::StatusOr<std::unique_ptr<OwnRuntime>>(
    const FsRoot& directory, const std::vector<std::string>& insecure_registries)>;

enum class RegistryKind { kPlain, kPassword, kTls };

class Session {
 public:
  // Connects, or starts a runtime and connects. Errors are for the user: nobody listens, no right.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const Options& options,
                                                       const StartRuntime& start_runtime);
  // The one that is open; null outside of a run (--list).
  static Session* Current();
  ~Session();

  Client& client() { return *client_; }
  const std::string& endpoint() const { return endpoint_; }
  // Whether the runtime is the run's own, so that nobody else is disturbed.
  bool own_runtime() const { return has_own_; }
  // What the own runtime has logged.
  std::string OwnLog() const { return has_own_ ? own_->Log() : ""; }
  // Names all that the run makes: "c" and hexadecimal digits.
  const std::string& run() const { return run_; }
  const Options& options() const { return options_; }
  absl::Duration Patience(absl::Duration limit) const { return limit * options_.patience; }
  // A directory of the run on this machine, for logs and volumes.
  const FsRoot& directory() const { return *directory_; }

  // Starts it when first asked for. FAILED_PRECONDITION where there can't be one, saying why.
  absl::StatusOr<Registry*> GetRegistry(RegistryKind kind);
  // Builds and pushes an image; its full name. `repository`: "team/app:v1" below a path of the
  // run's.
  absl::StatusOr<std::string> Publish(const Recipe& recipe, const std::string& repository,
                                      RegistryKind kind = RegistryKind::kPlain);
  // The image of most tests, pulled when first asked for.
  absl::StatusOr<std::string> BaseImage();
  // Whether BaseImage is one of Recipe's.
  bool base_image_is_own() const { return options_.image.empty(); }

  // Stops and removes all pods of the run, with their containers; the first error.
  absl::Status RemovePods();
  // Ends all: calls under way, pods, images, registries, the own runtime, the directory. What could
  // not be removed is told. May be called by another thread than the tests', and again: then it
  // waits for the first to be done.
  absl::Status Close();
  // Whether that has begun.
  bool closed();

 private:
  explicit Session(const Options& options);
  absl::Status Start(const StartRuntime& start_runtime);
  absl::Status RemoveImages();
  absl::Status TearDownHost();
  RegistryOptions OptionsOf(RegistryKind kind) const;

  Options options_;
  const std::string run_;
  std::string endpoint_;
  std::string directory_path_;
  std::optional<FsRoot> directory_;
  std::map<RegistryKind, ReservedPort> ports_;
  bool has_own_ = false;
  std::unique_ptr<OwnRuntime> own_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Client> cleaner_;  // still works when client_ has been shut

  absl::Mutex close_mutex_;  // held for as long as Close takes; before mutex_
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<RegistryKind, std::unique_ptr<Registry>> registries_ ABSL_GUARDED_BY(mutex_);
  int layouts_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string base_image_ ABSL_GUARDED_BY(mutex_);
  bool base_image_was_there_ ABSL_GUARDED_BY(mutex_) = false;
};

// The label that pods of a run have, with the run as value.
inline constexpr char kRunLabel[] = "plimsoll.conformance";

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_SESSION_H_
