// One run of the suite: the socket under test, and everything the run makes beside it. A process
// has one, made by main() before the first test and closed after the last or on Ctrl-C.
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
  std::string endpoint;        // empty: the run starts its own runtime
  std::string image_endpoint;  // empty: the same
  std::string image;           // like busybox, for most tests; empty: one made here
  // Where the runtime under test expects a registry with this certificate; empty: none.
  std::string tls_registry;  // "127.0.0.1:5443"
  std::string tls_certificate;
  std::string tls_key;
  double patience = 1;  // the factor for all time limits
};

// A runtime that lives as long as the run.
class OwnRuntime {
 public:
  virtual ~OwnRuntime() = default;  // ends it, with all that it still runs
  virtual std::string endpoint() const = 0;
  virtual std::string Log() const = 0;
};
// `insecure_registries`: registries to be trusted without TLS, or with an unverified certificate.
// `directory` is for the runtime's files and outlives it.
using StartRuntime = std::function<absl::StatusOr<std::unique_ptr<OwnRuntime>>(
    const FsRoot& directory, const std::vector<std::string>& insecure_registries)>;

enum class RegistryKind { kPlain, kPassword, kTls };

class Session {
 public:
  // Connects, or starts a runtime and connects. Errors are for the user: no listener, no
  // permission.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const Options& options,
                                                       const StartRuntime& start_runtime);
  // The open session; null outside of a run (--list).
  static Session* Current();
  ~Session();

  Client& client() { return *client_; }
  const std::string& endpoint() const { return endpoint_; }
  // True if the runtime is the run's own, which nobody else uses.
  bool own_runtime() const { return has_own_; }
  // The log of the run's own runtime.
  std::string OwnLog() const { return has_own_ ? own_->Log() : ""; }
  // Part of every name that the run makes: "c" and hexadecimal digits.
  const std::string& run() const { return run_; }
  const Options& options() const { return options_; }
  absl::Duration Patience(absl::Duration limit) const { return limit * options_.patience; }
  // A directory of the run on this machine, for logs and volumes.
  const FsRoot& directory() const { return *directory_; }

  // Starts the registry on first use. FAILED_PRECONDITION, with the reason, if there can't be one.
  absl::StatusOr<Registry*> GetRegistry(RegistryKind kind);
  // Builds and pushes an image; returns its full name. `repository`: "team/app:v1", below a path of
  // the run's.
  absl::StatusOr<std::string> Publish(const Recipe& recipe, const std::string& repository,
                                      RegistryKind kind = RegistryKind::kPlain);
  // The image of most tests, pulled on first use.
  absl::StatusOr<std::string> BaseImage();
  // True if BaseImage was made from a Recipe.
  bool base_image_is_own() const { return options_.image.empty(); }

  // Stops and removes all pods of the run, with their containers; returns the first error.
  absl::Status RemovePods();
  // Ends everything: running calls, pods, images, registries, the own runtime, the directory.
  // Reports what it couldn't remove. Other threads than the tests' may call it, and call it again:
  // a second call waits for the first.
  absl::Status Close();
  // True once Close has begun.
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
  std::unique_ptr<Client> cleaner_;  // works even after client_ has been shut

  absl::Mutex close_mutex_;  // held throughout Close; taken before mutex_
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<RegistryKind, std::unique_ptr<Registry>> registries_ ABSL_GUARDED_BY(mutex_);
  int layouts_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string base_image_ ABSL_GUARDED_BY(mutex_);
  bool base_image_was_there_ ABSL_GUARDED_BY(mutex_) = false;
};

// The label of the run's pods; its value is the run.
inline constexpr char kRunLabel[] = "plimsoll.conformance";

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_SESSION_H_
