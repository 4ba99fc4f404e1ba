// The suite's own registries on the loopback device: Debian's docker-registry.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_REGISTRY_H_
#define PLIMSOLL_TESTS_CONFORMANCE_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::conformance {

inline constexpr char kRegistryUser[] = "stoker";
inline constexpr char kRegistryPassword[] = "s3cret-pass";

// A TCP port of 127.0.0.1, kept from others while this lives. A server that knows it can listen
// there with SO_REUSEADDR, as servers do.
class ReservedPort {
 public:
  static absl::StatusOr<ReservedPort> Reserve();
  uint16_t number() const { return number_; }

 private:
  UniqueFd socket_;
  uint16_t number_ = 0;
};

struct RegistryOptions {
  std::string address;         // "127.0.0.1:5000"
  bool with_password = false;  // requires kRegistryUser and kRegistryPassword
  std::string certificate;     // PEM files; empty: plain HTTP
  std::string key;
};

// Not thread-safe, except Hang, Resume and Stop.
class Registry {
 public:
  // Serves when it returns. `directory`: an empty one for its storage; outlives it. NOT_FOUND if a
  // program is missing, naming Debian's package.
  static absl::StatusOr<std::unique_ptr<Registry>> Start(const FsRoot& directory,
                                                         const RegistryOptions& options);
  ~Registry();

  const std::string& host() const { return options_.address; }
  // "127.0.0.1:5000/team/app:v1"
  std::string Name(const std::string& repository) const;
  // Copies the image "v1" of an OCI layout into the registry, with all its platforms.
  absl::Status Push(const std::string& layout, const std::string& repository) const;
  // Until Resume, takes requests and answers none.
  void Hang();
  void Resume();
  // Ends it for good.
  void Stop();

 private:
  explicit Registry(RegistryOptions options) : options_(std::move(options)) {}

  const RegistryOptions options_;
  std::optional<Child> child_;
};

// Makes DIRECTORY/tls.crt and tls.key, self-signed, for 127.0.0.1 and localhost.
absl::Status MakeCertificate(const FsRoot& directory);

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_REGISTRY_H_
