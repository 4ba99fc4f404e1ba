#include "image/transport_skopeo.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
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
#include "absl/strings/strip.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/programs/pipe.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "base/text/human_bytes.h"
#include "image/image_content.h"
#include "image/names/digest.h"
#include "image/registry/relayed_login.h"
#include "image/registry/signature_policy.h"
#include "image/skopeo_errors.h"
#include "linux/process_tree.h"
#include "nlohmann/json.hpp"

namespace plimsoll::image {
namespace {

constexpr absl::string_view kAuthFile = "auth.json";
constexpr int kCopyTickMs = 100;
constexpr size_t kMaxOutputBytes = kMaxDocumentBytes + 1;
constexpr size_t kMaxCopyErrorBytes = 64 * 1024;
constexpr int kMaxCopiedIndexDepth = 4;
// skopeo's files beside layers and config: manifest, index, the layout's own files.
constexpr uint64_t kSlackBytes = 16 * 1024 * 1024;

// skopeo reaches registries through the daemon's proxy. With `loopback_only` all other hosts are
// behind kNoProxy: Go's clients ask no proxy for localhost and loopback addresses (net/http,
// ProxyFromEnvironment).
constexpr char kHome[] = "HOME=";
constexpr absl::Duration kLongestWait = absl::Minutes(1);  // that skopeo obeys a Retry-After
constexpr int kGoCrash = 2;                                // the exit code of a panic

std::vector<std::string> Environment(const FsRoot& work, bool loopback_only) {
  std::vector<std::string> environment = Command().environment;
  environment.push_back(absl::StrCat(kHome, work.path()));
  if (loopback_only) {
    environment.push_back(absl::StrCat("HTTP_PROXY=http://", kNoProxy));
    environment.push_back(absl::StrCat("HTTPS_PROXY=http://", kNoProxy));
    return environment;
  }
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
                           "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      environment.push_back(absl::StrCat(name, "=", value));
    }
  }
  return environment;
}

void KeepBeginning(absl::string_view part, size_t max_bytes, std::string* text) {
  absl::StrAppend(text, part.substr(0, max_bytes - std::min(max_bytes, text->size())));
}

void KeepEnd(absl::string_view part, size_t max_bytes, std::string* text) {
  absl::StrAppend(text, part);
  if (text->size() > 2 * max_bytes) text->erase(0, text->size() - max_bytes);
}

// Sums up the files in a directory, which may come and go meanwhile.
uint64_t BytesIn(const FsRoot& root, absl::string_view directory) {
  uint64_t bytes = 0;
  const absl::StatusOr<std::vector<std::string>> names = root.List(directory);
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    const absl::StatusOr<struct stat> info = root.Stat(absl::StrCat(directory, "/", name));
    if (info.ok() && S_ISREG(info->st_mode)) bytes += static_cast<uint64_t>(info->st_size);
  }
  return bytes;
}

// Saturates: the registry states the sizes.
uint64_t Add(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace

// A stray skopeo's home is its directory.
void EndStraySkopeos(const FsRoot& host, const std::vector<std::string>& works) {
  if (works.empty()) return;
  const auto table = linux::ListProcessTable(host);
  if (!table.ok()) return;
  for (const linux::ProcessEntry& entry : *table) {
    const auto environment = linux::ReadWords(host, entry.id.pid, "environ");
    const bool is_stray = environment.ok() && absl::c_any_of(works, [&](const std::string& work) {
                            return absl::c_linear_search(*environment, absl::StrCat(kHome, work));
                          });
    if (is_stray)
      linux::KillAndAwait(host, entry.id, MonotonicNow() + kHelperKillTimeout).IgnoreError();
  }
}

absl::StatusOr<std::unique_ptr<SkopeoTransport>> SkopeoTransport::Open(const FsRoot& host,
                                                                       const Reference& reference,
                                                                       TransportOptions options,
                                                                       const FsRoot& work) {
  absl::StatusOr<std::string> program = FindProgram("skopeo");
  if (!program.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("pull ", reference.Canonical(), ": ", program.status().message(),
                     ", which pulls need: install it (Debian: apt-get install skopeo)"));
  }
  std::unique_ptr<SkopeoTransport> transport(
      new SkopeoTransport(host, reference, std::move(options), work, *std::move(program)));
  PLIMSOLL_RETURN_IF_ERROR(transport->WriteAuthFile());
  return transport;
}

SkopeoTransport::~SkopeoTransport() {
  work_.RemoveFile(kAuthFile).IgnoreError();
}

// containers-auth.json(5). Always written, even empty, so that skopeo looks nowhere else.
absl::Status SkopeoTransport::WriteAuthFile() const {
  nlohmann::json auths = nlohmann::json::object();
  const Credentials& credentials = options_.credentials;
  if (!credentials.empty()) {
    nlohmann::json& auth = auths[relay_ == nullptr ? reference_.registry : relay_->host()];
    // Without this member skopeo ignores the others, even an identity token.
    auth["auth"] =
        absl::Base64Escape(absl::StrCat(credentials.username, ":", credentials.password));
    if (!credentials.identity_token.empty()) {
      auth["identitytoken"] = credentials.identity_token;
    }
  }
  for (const MirrorRelay& each : options_.relays) {
    if (each.password.empty()) continue;
    auths[each.relay->host()]["auth"] =
        absl::Base64Escape(absl::StrCat(kRelayUser, ":", each.password));
  }
  const nlohmann::json file = {{"auths", auths}};
  // A token need not be UTF-8, but JSON must.
  return work_.ReplaceFile(
      kAuthFile, file.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 0600);
}

absl::StatusOr<std::vector<std::string>> SkopeoTransport::Arguments(const char* subcommand,
                                                                    const char* tls_option) const {
  std::vector<std::string> argv = {program_};
  const absl::StatusOr<MachinePolicy> policy = ReadMachinePolicy(host_);
  if (!policy.ok()) {
    return Annotate(policy.status(), absl::StrCat("pull ", reference_.Canonical()));
  }
  if (*policy == MachinePolicy::kNone) argv.push_back("--insecure-policy");
  if (!options_.registries_conf.empty()) {  // an option that skopeo's help doesn't show
    argv.insert(argv.end(), {"--registries-conf", options_.registries_conf});
  }
  argv.insert(argv.end(),
              {"--tmpdir", work_.path(), subcommand, "--authfile", work_.PathOf(kAuthFile)});
  // Without the option registries.conf decides.
  if (options_.insecure || options_.plain_on_loopback)
    argv.push_back(absl::StrCat(tls_option, "=false"));
  return argv;
}

// skopeo's two streams: of its output the beginning is kept, of its errors the end, which has the
// reason.
class SkopeoTransport::Streams {
 public:
  static absl::StatusOr<Streams> Open() {
    Streams streams;
    PLIMSOLL_ASSIGN_OR_RETURN(streams.out_pipe_, MakePipe());
    PLIMSOLL_ASSIGN_OR_RETURN(streams.err_pipe_, MakePipe());
    PLIMSOLL_RETURN_IF_ERROR(SetNonBlocking(streams.out_pipe_.reader));
    PLIMSOLL_RETURN_IF_ERROR(SetNonBlocking(streams.err_pipe_.reader));
    return streams;
  }

  std::vector<std::pair<int, int>> ForChild() const {
    return {{out_pipe_.writer.get(), 1}, {err_pipe_.writer.get(), 2}};
  }
  void CloseWriters() {
    out_pipe_.writer.Reset();
    err_pipe_.writer.Reset();
  }

  bool AreOpen() const { return out_pipe_.reader.valid() || err_pipe_.reader.valid(); }
  // Takes what has come, and waits for it no longer than kCopyTickMs.
  absl::Status Take() {
    struct pollfd fds[2] = {{out_pipe_.reader.get(), POLLIN, 0},
                            {err_pipe_.reader.get(), POLLIN, 0}};
    if (poll(fds, 2, kCopyTickMs) < 0 && errno != EINTR) return ErrnoStatus(errno, "poll skopeo");
    const auto take_out = [this](absl::string_view part) {
      KeepBeginning(part, kMaxOutputBytes, &out_);
    };
    const auto take_err = [this](absl::string_view part) {
      err_bytes_ += part.size();
      KeepEnd(part, kMaxCopyErrorBytes, &err_);
    };
    while (ReadSome(&out_pipe_.reader, take_out) > 0) {
    }
    while (ReadSome(&err_pipe_.reader, take_err) > 0) {
    }
    return absl::OkStatus();
  }

  const std::string& out() const { return out_; }
  std::string TakeOut() { return std::move(out_); }
  const std::string& err() const { return err_; }
  uint64_t bytes() const { return out_.size() + err_bytes_; }

 private:
  Pipe out_pipe_;
  Pipe err_pipe_;
  std::string out_;
  std::string err_;
  uint64_t err_bytes_ = 0;
};

absl::StatusOr<ExitStatus> SkopeoTransport::Await(Child& child, const Watch& watch,
                                                  Streams& streams) const {
  uint64_t seen = 0;
  absl::Time last_seen = MonotonicNow();
  while (streams.AreOpen()) {
    if (watch.stopped && watch.stopped()) {
      return absl::CancelledError(absl::StrCat("pull ", reference_.Canonical(), ": cancelled"));
    }
    PLIMSOLL_RETURN_IF_ERROR(streams.Take());
    PLIMSOLL_RETURN_IF_ERROR(CheckRetryAfter(streams.err()));
    uint64_t now_seen = streams.bytes();
    if (watch.written) {
      PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t written, watch.written(streams.out()));
      now_seen = Add(now_seen, written);
    }
    if (std::exchange(seen, now_seen) != now_seen) last_seen = MonotonicNow();
    if (MonotonicNow() - last_seen > options_.stall_timeout) {
      return absl::UnavailableError(
          absl::StrCat("pull ", reference_.Canonical(), ": nothing has come from registry ",
                       reference_.registry, " for ", absl::FormatDuration(options_.stall_timeout)));
    }
  }
  return child.Wait(MonotonicNow() + kHelperKillTimeout);
}

absl::StatusOr<std::string> SkopeoTransport::Run(std::vector<std::string> argv,
                                                 const Watch& watch) {
  PLIMSOLL_ASSIGN_OR_RETURN(Streams streams, Streams::Open());
  Command command;
  command.argv = std::move(argv);
  command.environment = Environment(work_, options_.plain_on_loopback);
  command.working_directory = work_.path();
  command.descriptors = streams.ForChild();
  command.new_session = true;
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  streams.CloseWriters();
  const absl::StatusOr<ExitStatus> exit = Await(child, watch, streams);
  if (!exit.ok()) {
    const absl::Status killed = child.KillGroup(MonotonicNow() + kHelperKillTimeout);
    if (killed.ok()) return exit.status();
    return AlsoSay(exit.status(), killed.message());
  }
  if (exit->signal != 0 || exit->code == kGoCrash) return Ended(exit->ToString(), streams.err());
  if (!exit->success()) return Failure(streams.err().empty() ? exit->ToString() : streams.err());
  return streams.TakeOut();
}

// skopeo would silently retry after a minute, four times.
absl::Status SkopeoTransport::CheckRetryAfter(absl::string_view err) const {
  const absl::Duration wait = RetryAfter(OfTheRegistry(err), reference_.Name());
  if (wait <= kLongestWait) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("pull ", reference_.Canonical(), ": registry ", reference_.registry,
                   " answers 429 Too Many Requests, and wants to be asked again after ",
                   absl::FormatDuration(wait)));
}

absl::StatusOr<std::string> SkopeoTransport::Inspect(const std::string& source, bool config) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> argv, Arguments("inspect", "--tls-verify"));
  argv.insert(argv.begin() + 1, "--debug");  // shows a Retry-After
  argv.push_back("--raw");
  if (config) argv.push_back("--config");
  argv.push_back(absl::StrCat("docker://", source));
  return Run(std::move(argv), {options_.cancelled, nullptr});
}

absl::StatusOr<RegistryImage> SkopeoTransport::Resolve() {
  absl::StatusOr<RegistryImage> image = ResolveOnce();
  if (!absl::IsPermissionDenied(image.status()) || options_.credentials.empty()) return image;
  const absl::Status begun = BeginRelay();
  if (absl::IsNotFound(begun)) return image;
  if (!begun.ok()) return AlsoSay(image.status(), begun.message());
  return ResolveOnce();
}

absl::Status SkopeoTransport::BeginRelay() {
  PLIMSOLL_ASSIGN_OR_RETURN(relay_, RelayLogin({.host = host_,
                                                .reference = reference_,
                                                .insecure = options_.insecure,
                                                .registries_conf = options_.registries_conf,
                                                .cancelled = options_.cancelled},
                                               work_));
  return WriteAuthFile();
}

std::string SkopeoTransport::OfTheRegistry(absl::string_view err) const {
  std::string words(err);
  if (relay_ != nullptr) {
    words = absl::StrReplaceAll(words, {{relay_->host(), reference_.registry}});
  }
  for (const MirrorRelay& each : options_.relays) {
    words = absl::StrReplaceAll(words, {{each.relay->host(), each.mirror}});
  }
  return words;
}

absl::StatusOr<RegistryImage> SkopeoTransport::ResolveOnce() {
  RegistryImage image;
  const std::string name = reference_.Canonical();
  PLIMSOLL_ASSIGN_OR_RETURN(image.manifest, Inspect(name, /*config=*/false));
  image.digest = DigestOf(image.manifest);
  if (!reference_.digest.empty() && image.digest != reference_.digest) {
    return absl::DataLossError(
        absl::StrCat("pull ", name, ": the registry gave the content of ", image.digest));
  }
  image.manifest_digest = image.digest;
  const std::string what = absl::StrCat("pull ", name);
  for (int depth = 0; depth < kMaxCopiedIndexDepth; ++depth) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_index, IsIndex(image.manifest, what));
    if (!is_index) return image;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Descriptor> manifests,
                              ParseIndex(image.manifest, what));
    PLIMSOLL_ASSIGN_OR_RETURN(const Descriptor chosen, SelectPlatform(manifests, what));
    PLIMSOLL_ASSIGN_OR_RETURN(
        image.manifest,
        Inspect(absl::StrCat(reference_.Name(), "@", chosen.digest), /*config=*/false));
    image.manifest_digest = DigestOf(image.manifest);
    if (image.manifest_digest != chosen.digest) {
      return absl::DataLossError(absl::StrCat("pull ", name, ": the registry gave the content of ",
                                              image.manifest_digest, " for ", chosen.digest));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("pull ", name, ": has indexes more than ", kMaxCopiedIndexDepth, " deep"));
}

absl::StatusOr<std::string> SkopeoTransport::ReadConfig(const RegistryImage& image,
                                                        const Descriptor& config) {
  return CheckedConfig(config, [&] {
    return Inspect(absl::StrCat(reference_.Name(), "@", image.manifest_digest), /*config=*/true);
  });
}

absl::StatusOr<std::string> SkopeoTransport::ReadConfig(const BlobStreams& streams,
                                                        const Descriptor& config) {
  return CheckedConfig(config,
                       [&] { return streams.ReadAll(DigestHex(config.digest), config.size); });
}

absl::StatusOr<std::string> SkopeoTransport::CheckedConfig(
    const Descriptor& config, const std::function<absl::StatusOr<std::string>()>& read) const {
  const std::string what =
      absl::StrCat("pull ", reference_.Canonical(), ": config ", config.digest);
  if (config.size > kMaxDocumentBytes) {
    return absl::InvalidArgumentError(absl::StrCat(what, " has a declared size of ", config.size,
                                                   " bytes; valid are ", kMaxDocumentBytes));
  }
  absl::StatusOr<std::string> text = read();
  if (absl::IsCancelled(text.status())) return text.status();
  if (!text.ok()) {  // doesn't name the config
    absl::string_view why = text.status().message();
    absl::ConsumePrefix(&why, absl::StrCat("pull ", reference_.Canonical(), ": "));
    return absl::Status(text.status().code(), absl::StrCat(what, ": ", why));
  }
  if (const std::string digest = DigestOf(*text); digest != config.digest) {
    return absl::DataLossError(absl::StrCat(what, " has the content of ", digest));
  }
  if (text->size() != config.size) {
    return absl::DataLossError(
        absl::StrCat(what, " has ", text->size(), " bytes; the manifest says ", config.size));
  }
  return text;
}

absl::StatusOr<std::unique_ptr<SkopeoProxy>> SkopeoTransport::StartProxy(
    const RegistryImage& image, const std::function<bool()>& stopped) const {
  // Checked again: the policy may have appeared since the pull began.
  PLIMSOLL_ASSIGN_OR_RETURN(const MachinePolicy policy, ReadMachinePolicy(host_));
  if (policy == MachinePolicy::kRestricts) {
    return absl::UnimplementedError("streams are not held against policy.json");
  }
  Command command;
  PLIMSOLL_ASSIGN_OR_RETURN(command.argv, Arguments("experimental-image-proxy", "--tls-verify"));
  command.environment = Environment(work_, options_.plain_on_loopback);
  command.working_directory = work_.path();
  SkopeoProxy::Waiting waiting;
  waiting.stopped = stopped;
  waiting.stall_timeout = options_.stall_timeout;
  waiting.what = absl::StrCat("pull ", reference_.Canonical());
  waiting.registry = reference_.registry;
  waiting.translate = [this](absl::string_view words) { return Failure(words); };
  waiting.ended = [this](absl::string_view how, absl::string_view words) {
    return Ended(how, words);
  };
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<SkopeoProxy> proxy,
                            SkopeoProxy::Start(std::move(command), std::move(waiting)));
  PLIMSOLL_RETURN_IF_ERROR(
      proxy->OpenImage(absl::StrCat("docker://", reference_.Name(), "@", image.manifest_digest)));
  return proxy;
}

absl::StatusOr<std::unique_ptr<BlobStreams>> SkopeoTransport::Stream(
    const RegistryImage& image, const std::function<bool()>& stopped, BlobStreams::ToldFn told) {
  auto streams = std::make_unique<BlobStreams>(
      [this, image, stopped](const std::function<bool()>& stop) {
        return StartProxy(image, [stopped, stop] { return stop() || (stopped && stopped()); });
      },
      work_, std::move(told));
  PLIMSOLL_RETURN_IF_ERROR(streams->Start());
  return streams;
}

// Fails before gigabytes have come, and other pulls fail for lack of room.
absl::Status SkopeoTransport::CheckRoom(uint64_t bytes) const {
  struct statvfs info = {};
  if (fstatvfs(work_.fd(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("statvfs ", work_.path()));
  }
  const uint64_t room = uint64_t{info.f_bavail} * info.f_frsize;
  // Some file systems report no size.
  if (info.f_blocks == 0 || bytes <= room) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "pull ", name(), ": no space left for it: its manifest says that ", BytesInWords(bytes),
      " are to be fetched, and ", work_.path(), " has room for ", BytesInWords(room)));
}

absl::Status SkopeoTransport::Copy(const RegistryImage& image,
                                   const absl::flat_hash_set<std::string>& known,
                                   const std::function<bool()>& stopped,
                                   const ProgressFn& progress) {
  const std::string what = absl::StrCat("pull ", reference_.Canonical());
  PLIMSOLL_ASSIGN_OR_RETURN(const ImageManifest manifest, ParseManifest(image.manifest, what));
  PLIMSOLL_RETURN_IF_ERROR(work_.MakeDirs(kBlobs));
  // skopeo takes any file with the name of a blob for that blob.
  for (const std::string& digest : known) {
    PLIMSOLL_RETURN_IF_ERROR(
        work_.ReplaceFile(absl::StrCat(kBlobs, "/", DigestHex(digest)), "", 0600));
  }
  Progress state;
  state.step = "copying";
  state.total_bytes = manifest.config.size;
  for (const Descriptor& layer : manifest.layers) {
    if (!known.contains(layer.digest)) state.total_bytes = Add(state.total_bytes, layer.size);
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckRoom(state.total_bytes));
  if (progress) progress(state);

  const auto written = [&](absl::string_view out) -> absl::StatusOr<uint64_t> {
    const uint64_t bytes = BytesIn(work_, kBlobs) + BytesIn(work_, "image");
    if (bytes > Add(state.total_bytes, kSlackBytes)) {
      return absl::DataLossError(absl::StrCat(what, ": the registry gives more than the ",
                                              state.total_bytes, " bytes that the manifest says"));
    }
    const absl::string_view lines = absl::StripTrailingAsciiWhitespace(out);
    const std::string line(lines.substr(lines.rfind('\n') + 1).substr(0, 120));
    const uint64_t done = std::min(bytes, state.total_bytes);
    if (progress && (done != state.done_bytes || (!line.empty() && line != state.step))) {
      if (!line.empty()) state.step = line;
      state.done_bytes = done;
      progress(state);
    }
    return bytes;
  };
  // An OCI layout, because its blobs may be shared, and so exist before. The manifest that skopeo
  // writes into it is not used: it would be a rewritten one for Docker's format, with another
  // digest.
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> argv, Arguments("copy", "--src-tls-verify"));
  argv.insert(
      argv.end(),
      {"--dest-oci-accept-uncompressed-layers", "--dest-shared-blob-dir", "blobs",
       absl::StrCat("docker://", reference_.Name(), "@", image.manifest_digest), "oci:image"});
  return Run(std::move(argv), {stopped, written}).status();
}

absl::Status SkopeoTransport::Failure(absl::string_view err) const {
  return TranslateSkopeoError(OfTheRegistry(err), reference_.Canonical(), options_.credentials);
}

absl::Status SkopeoTransport::Ended(absl::string_view how, absl::string_view err) const {
  return SkopeoHasEnded(how, OfTheRegistry(err), reference_.Canonical(), options_.credentials);
}

}  // namespace plimsoll::image
