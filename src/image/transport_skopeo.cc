#include "image/transport_skopeo.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "image/digest.h"
#include "image/image_content.h"
#include "image/manifest.h"
#include "linux/process_tree.h"
#include "nlohmann/json.hpp"

namespace plimsoll::image {
namespace {

constexpr absl::string_view kAuthFile = "auth.json";
constexpr int kTickMs = 200;
constexpr size_t kMaxOutputBytes = kMaxDocumentBytes + 1;
constexpr size_t kMaxErrorBytes = 64 * 1024;
constexpr int kMaxIndexDepth = 4;

// skopeo reaches registries through the proxy that the daemon was given.
constexpr char kHome[] = "HOME=";
constexpr absl::Duration kEndTimeout = absl::Seconds(5);  // after SIGKILL

std::vector<std::string> Environment(const FsRoot& work) {
  std::vector<std::string> environment = Command().environment;
  environment.push_back(absl::StrCat(kHome, work.path()));
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
                           "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      environment.push_back(absl::StrCat(name, "=", value));
    }
  }
  return environment;
}

bool HasSystemPolicy() {
  const absl::StatusOr<FsRoot> root = FsRoot::Open("/");
  return root.ok() && root->Exists("etc/containers/policy.json");
}

// Appends what can be read now. False at the end of the stream.
bool Drain(int fd, size_t max_bytes, std::string* text) {
  char buffer[16384];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    const size_t room = max_bytes - std::min(max_bytes, text->size());
    text->append(buffer, std::min(room, static_cast<size_t>(n)));
  }
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2] = {};
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe");
  Pipe made{UniqueFd(fds[0]), UniqueFd(fds[1])};
  if (fcntl(made.read_end.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "set a pipe to non-blocking");
  }
  return made;
}

// skopeo logs as time="..." level=fatal msg="..."; the last such message is the reason.
std::string Reason(absl::string_view err) {
  std::string reason;
  for (absl::string_view line : absl::StrSplit(err, '\n', absl::SkipEmpty())) {
    const size_t start = line.find("msg=\"");
    const bool logged = start != absl::string_view::npos && absl::EndsWith(line, "\"");
    if (logged && (absl::StrContains(line, "level=fatal") || reason.empty())) {
      const absl::string_view quoted = line.substr(start + 5, line.size() - start - 6);
      reason = absl::StrReplaceAll(quoted, {{"\\\"", "\""}, {"\\\\", "\\"}});
    } else if (reason.empty() && !logged) {
      reason = std::string(line);
    }
  }
  return reason.substr(0, 1000);
}

bool HasAny(absl::string_view text, std::initializer_list<absl::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [text](absl::string_view part) { return absl::StrContains(text, part); });
}

absl::StatusCode CodeFor(absl::string_view reason) {
  const std::string text = absl::AsciiStrToLower(reason);
  if (HasAny(text, {"manifest unknown", "name unknown", "repository name not known", "name invalid",
                    "not found", "status code 404"})) {
    // A host that isn't found is no answer of a registry.
    if (!absl::StrContains(text, "no such host")) return absl::StatusCode::kNotFound;
  }
  if (HasAny(text, {"unauthorized", "authentication required", "denied", "forbidden",
                    "invalid username/password", "status code 401", "status code 403",
                    "rejected by policy", "signature was required"})) {
    return absl::StatusCode::kPermissionDenied;
  }
  if (HasAny(text, {"digest did not match", "does not match digest", "digest mismatch",
                    "digest verification"})) {
    return absl::StatusCode::kDataLoss;
  }
  if (HasAny(text, {"no space left", "disk quota"})) return absl::StatusCode::kResourceExhausted;
  if (HasAny(text, {"connection refused", "no such host", "timeout", "timed out", "unreachable",
                    "server misbehaving", "connection reset", "x509", "tls:", "eof",
                    "server gave http response", "too many requests", "status code 5",
                    "pinging container registry", "no route to host"})) {
    return absl::StatusCode::kUnavailable;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status TranslateSkopeoError(absl::string_view stderr_text, absl::string_view reference,
                                  const Credentials& secrets) {
  const std::string basic =
      absl::Base64Escape(absl::StrCat(secrets.username, ":", secrets.password));
  std::string text(stderr_text);
  for (const std::string& secret :
       {secrets.empty() ? std::string() : basic, secrets.password, secrets.identity_token,
        absl::CEscape(secrets.password), absl::Base64Escape(secrets.password)}) {
    if (!secret.empty()) text = absl::StrReplaceAll(text, {{secret, "[redacted]"}});
  }
  const std::string reason = Reason(text);
  return absl::Status(CodeFor(reason),
                      absl::StrCat("pull ", reference, ": ",
                                   reason.empty() ? "skopeo failed without a word" : reason));
}

// Each has its directory as its home.
void EndStraySkopeos(const std::vector<std::string>& works) {
  const absl::StatusOr<FsRoot> host = FsRoot::Open("/");
  if (works.empty() || !host.ok()) return;
  const auto table = linux::ListProcessTable(*host);
  if (!table.ok()) return;
  for (const linux::ProcessEntry& entry : *table) {
    const auto environment = linux::ReadWords(*host, entry.id.pid, "environ");
    const bool is_stray = environment.ok() && absl::c_any_of(works, [&](const std::string& work) {
                            return absl::c_linear_search(*environment, absl::StrCat(kHome, work));
                          });
    if (is_stray) linux::KillAndAwait(*host, entry.id, absl::Now() + kEndTimeout).IgnoreError();
  }
}

absl::StatusOr<std::unique_ptr<SkopeoTransport>> SkopeoTransport::Open(const Reference& reference,
                                                                       const PullOptions& options,
                                                                       const FsRoot& work) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string program, FindProgram("skopeo"));
  std::unique_ptr<SkopeoTransport> transport(
      new SkopeoTransport(reference, options, work, std::move(program)));
  PLIMSOLL_RETURN_IF_ERROR(transport->WriteAuthFile());
  return transport;
}

SkopeoTransport::~SkopeoTransport() {
  work_.RemoveFile(kAuthFile).IgnoreError();
}

// containers-auth.json(5). Always written, empty too, so that skopeo looks nowhere else.
absl::Status SkopeoTransport::WriteAuthFile() const {
  nlohmann::json auths = nlohmann::json::object();
  const Credentials& credentials = options_.credentials;
  if (!credentials.empty()) {
    nlohmann::json& auth = auths[reference_.registry];
    if (!credentials.username.empty()) {
      auth["auth"] =
          absl::Base64Escape(absl::StrCat(credentials.username, ":", credentials.password));
    }
    if (!credentials.identity_token.empty()) {
      auth["identitytoken"] = credentials.identity_token;
    }
  }
  const nlohmann::json file = {{"auths", auths}};
  // A token need not be UTF-8, which JSON must be.
  return work_.ReplaceFile(
      kAuthFile, file.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 0600);
}

std::vector<std::string> SkopeoTransport::Arguments(const char* subcommand,
                                                    const char* tls_option) const {
  std::vector<std::string> argv = {program_};
  if (!HasSystemPolicy()) argv.push_back("--insecure-policy");
  argv.insert(argv.end(),
              {"--tmpdir", work_.path(), subcommand, "--authfile", work_.PathOf(kAuthFile)});
  if (options_.insecure_registry) argv.push_back(absl::StrCat(tls_option, "=false"));
  return argv;
}

absl::Status SkopeoTransport::Failure(absl::string_view err) const {
  return TranslateSkopeoError(err, reference_.Canonical(), options_.credentials);
}

absl::StatusOr<std::string> SkopeoTransport::Run(
    std::vector<std::string> argv, const std::function<void(absl::string_view out)>& on_tick) {
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe out_pipe, MakePipe());
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe err_pipe, MakePipe());
  Command command;
  command.argv = std::move(argv);
  command.environment = Environment(work_);
  command.descriptors = {{out_pipe.write_end.get(), 1}, {err_pipe.write_end.get(), 2}};
  command.new_session = true;
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  out_pipe.write_end.Reset();
  err_pipe.write_end.Reset();

  std::string out;
  std::string err;
  const auto await = [&]() -> absl::StatusOr<ExitStatus> {
    bool out_open = true;
    bool err_open = true;
    while (out_open || err_open) {
      if (options_.cancelled && options_.cancelled()) {
        return absl::CancelledError(absl::StrCat("pull ", reference_.Canonical(), ": cancelled"));
      }
      if (absl::Now() >= deadline_) {
        return absl::DeadlineExceededError(absl::StrCat("pull ", reference_.Canonical(),
                                                        ": not done after ",
                                                        absl::FormatDuration(options_.timeout)));
      }
      struct pollfd fds[2] = {{out_open ? out_pipe.read_end.get() : -1, POLLIN, 0},
                              {err_open ? err_pipe.read_end.get() : -1, POLLIN, 0}};
      if (poll(fds, 2, kTickMs) < 0 && errno != EINTR) return ErrnoStatus(errno, "poll skopeo");
      if (out_open) out_open = Drain(out_pipe.read_end.get(), kMaxOutputBytes, &out);
      if (err_open) err_open = Drain(err_pipe.read_end.get(), kMaxErrorBytes, &err);
      if (on_tick) on_tick(out);
    }
    return child.Wait(deadline_);
  };
  const absl::StatusOr<ExitStatus> exit = await();
  if (!exit.ok()) {
    const absl::Status killed = child.KillGroup(absl::Now() + kEndTimeout);
    if (killed.ok()) return exit.status();
    return absl::Status(exit.status().code(),
                        absl::StrCat(exit.status().message(), "; ", killed.message()));
  }
  if (!exit->success()) return Failure(err.empty() ? exit->ToString() : err);
  return out;
}

absl::StatusOr<std::string> SkopeoTransport::InspectRaw(const std::string& source) {
  std::vector<std::string> argv = Arguments("inspect", "--tls-verify");
  argv.insert(argv.end(), {"--raw", absl::StrCat("docker://", source)});
  return Run(std::move(argv), nullptr);
}

absl::StatusOr<RegistryImage> SkopeoTransport::Resolve() {
  RegistryImage image;
  const std::string name = reference_.Canonical();
  PLIMSOLL_ASSIGN_OR_RETURN(image.manifest, InspectRaw(name));
  image.digest = DigestOf(image.manifest);
  if (!reference_.digest.empty() && image.digest != reference_.digest) {
    return absl::DataLossError(
        absl::StrCat("pull ", name, ": the registry gave the content of ", image.digest));
  }
  image.manifest_digest = image.digest;
  for (int depth = 0; depth < kMaxIndexDepth; ++depth) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_index, IsIndex(image.manifest, name));
    if (!is_index) return image;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Descriptor> manifests,
                              ParseIndex(image.manifest, name));
    PLIMSOLL_ASSIGN_OR_RETURN(const Descriptor chosen, SelectPlatform(manifests, name));
    PLIMSOLL_ASSIGN_OR_RETURN(image.manifest,
                              InspectRaw(absl::StrCat(reference_.Name(), "@", chosen.digest)));
    image.manifest_digest = DigestOf(image.manifest);
    if (image.manifest_digest != chosen.digest) {
      return absl::DataLossError(absl::StrCat("pull ", name, ": the registry gave the content of ",
                                              image.manifest_digest, " for ", chosen.digest));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("pull ", name, ": has indexes more than ", kMaxIndexDepth, " deep"));
}

absl::Status SkopeoTransport::Copy(const RegistryImage& image, const ProgressFn& progress) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Manifest manifest,
                            ParseManifest(image.manifest, reference_.Canonical()));
  PLIMSOLL_RETURN_IF_ERROR(work_.MakeDirs("image"));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot target, work_.Sub("image"));
  Progress state;
  state.step = absl::StrCat("copying ", reference_.Canonical());
  state.total_bytes = manifest.config.size;
  for (const Descriptor& layer : manifest.layers) state.total_bytes += layer.size;

  const auto report = [&](absl::string_view out) {
    const absl::StatusOr<std::vector<std::string>> names = target.List(".");
    uint64_t bytes = 0;
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      const absl::StatusOr<struct stat> info = target.Stat(name);
      if (info.ok()) bytes += static_cast<uint64_t>(info->st_size);
    }
    absl::string_view lines = absl::StripTrailingAsciiWhitespace(out);
    const std::string line(lines.substr(lines.rfind('\n') + 1).substr(0, 120));
    if (bytes == state.done_bytes && (line.empty() || line == state.step)) return;
    if (!line.empty()) state.step = line;
    state.done_bytes = std::min(bytes, state.total_bytes);
    progress(state);
  };
  std::vector<std::string> argv = Arguments("copy", "--src-tls-verify");
  argv.insert(argv.end(), {absl::StrCat("docker://", reference_.Name(), "@", image.manifest_digest),
                           absl::StrCat("dir:", target.path())});
  return Run(std::move(argv), progress ? report : std::function<void(absl::string_view)>())
      .status();
}

}  // namespace plimsoll::image
