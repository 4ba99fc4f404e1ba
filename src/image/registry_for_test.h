// For tests: a real registry, Debian's docker-registry, on the loopback device.
#ifndef PLIMSOLL_IMAGE_REGISTRY_FOR_TEST_H_
#define PLIMSOLL_IMAGE_REGISTRY_FOR_TEST_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace plimsoll::image {

inline constexpr char kUser[] = "stoker";
inline constexpr char kPassword[] = "s3cret-pass";
// bcrypt of kPassword, the only form that the registry takes.
inline constexpr char kHtpasswd[] =
    "stoker:$2b$05$abcdefghijklmnopqrstuuV7fpPozvyqJfnY19y0802WTlXUm6Rjy\n";

inline struct sockaddr_in Loopback(uint16_t port) {
  struct sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

inline uint16_t FreePort() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<struct sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd.get(), reinterpret_cast<struct sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

inline bool Answers(uint16_t port) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const struct sockaddr_in address = Loopback(port);
  return connect(fd.get(), reinterpret_cast<const struct sockaddr*>(&address), sizeof(address)) ==
         0;
}

// Copies the image "v1" of an OCI layout on disk into a registry. Layers stay as they are.
inline absl::Status Push(const std::string& layout, const std::string& target,
                         const std::vector<std::string>& options = {}) {
  Command command;
  command.argv = {"/usr/bin/skopeo", "--insecure-policy", "copy", "--dest-tls-verify=false"};
  command.argv.insert(command.argv.end(), options.begin(), options.end());
  command.argv.push_back(absl::StrCat("oci:", layout, ":v1"));
  command.argv.push_back(absl::StrCat("docker://", target));
  return RunChecked(command).status();
}

// Makes an authority of the test's own (ca.crt), and a certificate of it for 127.0.0.1 (server.crt,
// server.key).
inline absl::Status MakeCertificates(const FsRoot& directory) {
  const std::string key = " -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  for (const std::string& words :
       {absl::StrCat("req -x509 -days 2 -subj /CN=plimsoll-test -keyout ca.key -out ca.crt", key),
        absl::StrCat("req -subj /CN=registry -addext subjectAltName=IP:127.0.0.1",
                     " -keyout server.key -out server.csr", key),
        std::string("x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2"
                    " -copy_extensions copy -out server.crt")}) {
    Command command;
    command.argv = absl::StrSplit(absl::StrCat("/usr/bin/openssl ", words), ' ');
    command.working_directory = directory.path();
    const auto made = RunChecked(command);
    if (!made.ok()) return made.status();
  }
  return absl::OkStatus();
}

// Runs as long as this lives.
class Registry {
 public:
  // `with_tls`: uses MakeCertificates' files in the same directory.
  Registry(const FsRoot& directory, bool with_password, bool with_tls = false) : port_(FreePort()) {
    EXPECT_TRUE(directory.MakeDirs("registry").ok());
    EXPECT_TRUE(directory.ReplaceFile("htpasswd", kHtpasswd).ok());
    std::string config =
        absl::StrCat("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: ",
                     directory.PathOf("registry"), "}}\nhttp: {addr: '127.0.0.1:", port_, "'");
    if (with_tls) {
      absl::StrAppend(&config, ", tls: {certificate: ", directory.PathOf("server.crt"),
                      ", key: ", directory.PathOf("server.key"), "}");
    }
    absl::StrAppend(&config, "}\n");
    if (with_password) {
      absl::StrAppend(
          &config, "auth: {htpasswd: {realm: test, path: ", directory.PathOf("htpasswd"), "}}\n");
    }
    EXPECT_TRUE(directory.ReplaceFile("registry.yml", config).ok());
    Command command;
    command.argv = {"/usr/bin/docker-registry", "serve", directory.PathOf("registry.yml")};
    command.new_session = true;
    absl::StatusOr<Child> child = Spawn(command);
    EXPECT_TRUE(child.ok()) << child.status();
    if (!child.ok()) return;
    child_.emplace(*std::move(child));
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (!Answers(port_) && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(20));
    EXPECT_TRUE(Answers(port_)) << "the registry did not start";
  }
  ~Registry() {
    if (!child_.has_value()) return;
    child_->Signal(SIGKILL).IgnoreError();
    child_->Wait().IgnoreError();
  }
  std::string host() const { return absl::StrCat("127.0.0.1:", port_); }
  uint16_t port() const { return port_; }
  std::string Name(absl::string_view repository) const {
    return absl::StrCat(host(), "/", repository);
  }
  // From now on it accepts requests and answers none.
  void Hang() { EXPECT_TRUE(child_->Signal(SIGSTOP).ok()); }
  void GoOn() { EXPECT_TRUE(child_->Signal(SIGCONT).ok()); }

 private:
  const uint16_t port_;
  std::optional<Child> child_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_REGISTRY_FOR_TEST_H_
