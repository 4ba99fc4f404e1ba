#include "conformance/registry.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "conformance/bound_program.h"

namespace plimsoll::conformance {
namespace {

// bcrypt of kRegistryPassword, the only form the registry takes.
constexpr char kHtpasswd[] =
    "stoker:$2b$05$abcdefghijklmnopqrstuuV7fpPozvyqJfnY19y0802WTlXUm6Rjy\n";

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool Answers(uint16_t port) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

absl::StatusOr<std::string> NeededProgram(const char* name, const char* package) {
  absl::StatusOr<std::string> found = FindProgram(name);
  if (found.ok()) return found;
  return absl::NotFoundError(absl::StrCat(
      "there is no ", name, " here, which a registry needs: apt-get install ", package));
}

std::string Configuration(const FsRoot& directory, const RegistryOptions& options) {
  std::string text =
      absl::StrCat("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: ",
                   directory.PathOf("data"), "}}\nhttp:\n  addr: '", options.address, "'\n");
  if (!options.certificate.empty()) {
    absl::StrAppend(&text, "  tls: {certificate: ", options.certificate, ", key: ", options.key,
                    "}\n");
  }
  if (options.with_password) {
    absl::StrAppend(&text,
                    "auth: {htpasswd: {realm: conformance, path: ", directory.PathOf("htpasswd"),
                    "}}\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<ReservedPort> ReservedPort::Reserve() {
  ReservedPort port;
  port.socket_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  // Bound but never listening: a listener with SO_REUSEADDR can share the port, and nothing gets it
  // by chance.
  if (!port.socket_.valid() ||
      setsockopt(port.socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(port.socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(port.socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return ErrnoStatus(errno, "reserving a port of 127.0.0.1");
  }
  port.number_ = ntohs(address.sin_port);
  return port;
}

absl::StatusOr<std::unique_ptr<Registry>> Registry::Start(const FsRoot& directory,
                                                          const RegistryOptions& options) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string program,
                            NeededProgram("docker-registry", "docker-registry"));
  PLIMSOLL_RETURN_IF_ERROR(NeededProgram("skopeo", "skopeo").status());
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("data"));
  PLIMSOLL_RETURN_IF_ERROR(directory.ReplaceFile("htpasswd", kHtpasswd));
  PLIMSOLL_RETURN_IF_ERROR(
      directory.ReplaceFile("registry.yml", Configuration(directory, options)));
  const size_t colon = options.address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(options.address.substr(colon + 1), &port) ||
      port <= 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("the registry's address ", options.address, " must end in a port"));
  }
  std::unique_ptr<Registry> registry(new Registry(options));
  Command command;
  command.argv = BoundToThisProcess();
  command.argv.insert(command.argv.end(), {program, "serve", directory.PathOf("registry.yml")});
  command.new_session = true;
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  registry->child_ = std::move(child);
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (!Answers(static_cast<uint16_t>(port))) {
    if (registry->child_->Wait(absl::Now()).ok() || absl::Now() > deadline) {
      return absl::UnavailableError(
          absl::StrCat("docker-registry does not serve at ", options.address));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  return registry;
}

Registry::~Registry() {
  Stop();
}

void Registry::Stop() {
  if (!child_.has_value()) return;
  child_->Signal(SIGKILL).IgnoreError();
  child_->Wait(absl::Now() + absl::Seconds(10)).IgnoreError();
}

std::string Registry::Name(const std::string& repository) const {
  return absl::StrCat(options_.address, "/", repository);
}

absl::Status Registry::Push(const std::string& layout, const std::string& repository) const {
  Command command;
  command.argv = {"skopeo", "--insecure-policy", "copy", "--all", "--dest-tls-verify=false"};
  if (options_.with_password) {
    command.argv.push_back(absl::StrCat("--dest-creds=", kRegistryUser, ":", kRegistryPassword));
  }
  command.argv.push_back(absl::StrCat("oci:", layout, ":v1"));
  command.argv.push_back(absl::StrCat("docker://", Name(repository)));
  PLIMSOLL_ASSIGN_OR_RETURN(command.executable, FindProgram("skopeo"));
  return RunChecked(command, {.timeout = absl::Seconds(120)}).status();
}

void Registry::Hang() {
  child_->Signal(SIGSTOP).IgnoreError();
}

void Registry::Resume() {
  child_->Signal(SIGCONT).IgnoreError();
}

absl::Status MakeCertificate(const FsRoot& directory) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string openssl, NeededProgram("openssl", "openssl"));
  Command command;
  command.argv = {openssl,
                  "req",
                  "-x509",
                  "-newkey",
                  "ec",
                  "-pkeyopt",
                  "ec_paramgen_curve:P-256",
                  "-nodes",
                  "-days",
                  "2",
                  "-subj",
                  "/CN=plimsoll-conformance",
                  "-addext",
                  "subjectAltName=IP:127.0.0.1,DNS:localhost",
                  "-keyout",
                  directory.PathOf("tls.key"),
                  "-out",
                  directory.PathOf("tls.crt")};
  return RunChecked(command).status();
}

}  // namespace plimsoll::conformance
