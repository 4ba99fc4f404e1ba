#include "cli/node_commands/images.h"

#include <limits.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "cli/node_commands/packaged_image.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/text.h"
#include "pod_runner/pulls/images.h"
#include "pod_runner/pulls/logins.h"
#include "pod_runner/pulls/pull_secrets.h"

namespace plimsoll::cli {
namespace {

bool IsAllHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
  });
}

// A whole image id, which no registry knows.
bool IsImageId(absl::string_view reference) {
  constexpr size_t kWhole = 64;
  absl::ConsumePrefix(&reference, "sha256:");
  return reference.size() == kWhole && IsAllHex(reference);
}

// The form of an id in `image list`; an image may be named like that too.
bool MayBeImageId(absl::string_view reference) {
  constexpr size_t kShown = 12;
  return reference.size() == kShown && IsAllHex(reference);
}

}  // namespace

std::string PullHint(absl::StatusCode code, const std::string& reference) {
  std::string first;
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      first = "Check the name, or bring";
      break;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      first = "Check the name and your credentials for the registry, or bring";
      break;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      first = "Check the way from here to the registry (network, names, proxy), or bring";
      break;
    case absl::StatusCode::kResourceExhausted:
      return "";  // an import needs the same room
    default:
      first = "Without the registry, bring";
  }
  return absl::StrCat(first, " the image from a file: plimsoll image import FILE --name ",
                      ShellQuote(reference));
}

absl::StatusOr<PullAuth> UserLogin(const std::string& auth_file, const std::string& reference) {
  if (!auth_file.empty()) {
    const absl::StatusOr<pod::Login> login = pod::ReadLogin(auth_file, reference);
    if (!login.ok()) return Annotate(login.status(), "--authfile");
    return PullAuth{login->credentials, absl::StrCat("The login is from ", login->source, ".")};
  }
  const pod::LoginSearch search = pod::FindLogin(pod::LoginFiles(), reference);
  for (const std::string& failed : search.failed) {
    PrintNote(absl::StrCat("note: passed over in the search for a login: ", failed, "\n"));
  }
  std::string origin = absl::StrCat(search.InWords(reference), ".");
  origin.front() = absl::ascii_toupper(static_cast<unsigned char>(origin.front()));
  return PullAuth{search.login ? search.login->credentials : pod::RegistryLogin(),
                  std::move(origin)};
}

namespace {

// `rest` may begin with a user and a password, which are shown to nobody.
absl::Status HasTransport(const std::string& transport, std::string rest) {
  const size_t at = rest.substr(0, rest.find('/')).rfind('@');
  if (at != std::string::npos) rest.erase(0, at + 1);
  return WithHint(absl::InvalidArgumentError(absl::StrCat("the name of the image ", rest,
                                                          " has a transport, ", transport)),
                  absl::StrCat("Leave ", transport, " out: plimsoll pull ", ShellQuote(rest)));
}

// The hint of a refusal: the credentials that were sent, and how to give others.
std::string LoginHint(const PullAuth& auth, const std::string& reference) {
  return absl::StrCat(auth.origin, " `skopeo login ", pod::RegistryOf(reference),
                      "` makes one, and --authfile FILE names another file.");
}

}  // namespace

absl::StatusOr<node::ImageProgress::Done> PullWithProgress(pod::Client& client,
                                                           const std::string& reference,
                                                           const PullAuth& auth) {
  if (IsImageId(reference)) {
    return WithHint(absl::NotFoundError(absl::StrCat("no image here has the id ", reference)),
                    "The images here: plimsoll image list. A registry knows images by name only.");
  }
  if (const size_t colon = reference.find("://"); colon != std::string::npos) {
    return UsageError(HasTransport(reference.substr(0, colon + 3), reference.substr(colon + 3)));
  }
  node::PullImageRequest request;
  request.set_reference(reference);
  if (!auth.credentials.user.empty() || !auth.credentials.identity_token.empty()) {
    request.mutable_auth()->set_username(auth.credentials.user);
    request.mutable_auth()->set_password(auth.credentials.password);
    request.mutable_auth()->set_identity_token(auth.credentials.identity_token);
    request.mutable_auth()->set_server_address(pod::RegistryOf(reference));
  }
  ProgressBar bar(absl::StrCat("pulling ", reference));
  auto done = client.own().PullImage(request, [&](const node::ImageProgress::Progress& progress) {
    // A short name's registry is news, the name as it was given isn't.
    absl::string_view step = progress.step();
    absl::ConsumeSuffix(&step, absl::StrCat(" ", reference));
    bar.Update(step, progress.done_bytes(), progress.total_bytes());
  });
  if (done.ok()) return done;
  const absl::Status failed = AnnotateOnce(done.status(), "pull", reference);
  // The daemon's message has the remedy: the registry answers.
  for (const char* remedy :
       {"it speaks plain HTTP", "under registries.insecure", "plimsolld is stopping"}) {
    if (absl::StrContains(failed.message(), remedy)) return WithHint(failed, "");
  }
  if (MayBeImageId(reference)) {
    return WithHint(failed,
                    absl::StrCat("If ", reference, " was meant as an image's id: none here ",
                                 "has it. The images here: plimsoll image list"));
  }
  // An import refuses such a name too.
  if (absl::StrContains(failed.message(), "image reference \"")) {
    return WithHint(failed, "A name is NAME[:TAG] or NAME@sha256:DIGEST.");
  }
  // registries.conf's refusal is no matter of credentials.
  if (absl::IsPermissionDenied(failed) && !absl::StrContains(failed.message(), " is blocked in ")) {
    return WithHint(failed, LoginHint(auth, reference));
  }
  return WithHint(failed, PullHint(done.status().code(), reference));
}

namespace {

std::string ArchitectureOfThisMachine() {
  struct utsname names = {};
  if (uname(&names) != 0) return "";
  // The names of Go, and so of images.
  static const auto* const kNames = new std::map<std::string, std::string>{
      {"x86_64", "amd64"},    {"aarch64", "arm64"}, {"i686", "386"},       {"armv7l", "arm"},
      {"ppc64le", "ppc64le"}, {"s390x", "s390x"},   {"riscv64", "riscv64"}};
  const auto found = kNames->find(names.machine);
  return found == kNames->end() ? "" : found->second;
}

}  // namespace

void NoteForeignArchitecture(pod::Client& client, const std::string& reference) {
  const auto image = client.InspectImage(reference);
  if (!image.ok()) return;
  const auto info = image->info().find("info");
  if (info == image->info().end()) return;
  const auto json = nlohmann::json::parse(info->second, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("architecture")) return;
  const std::string theirs = json["architecture"].is_string() ? json["architecture"] : "";
  const std::string ours = ArchitectureOfThisMachine();
  if (theirs.empty() || ours.empty() || theirs == ours) return;
  if (theirs == "386" && ours == "amd64") return;
  const bool is_id = absl::StartsWith(reference, "sha256:");
  PrintNote(absl::StrCat("note: image ", is_id ? ShortId(reference) : reference, " is for ", theirs,
                         ", this machine is ", ours,
                         ": its programs will not start without an emulator\n"));
}

namespace {

// Tries the pod's Secrets, then the user's login; without either the pull is anonymous.
absl::Status PullFor(pod::Client& client, const pod::Manifest& pod,
                     const pod::ConfigObjects* objects, const std::string& auth_file,
                     const std::string& reference) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pod::RegistryLogin> secrets,
                            pod::PullCredentials(pod, objects, reference));
  absl::Status failed;
  for (const pod::RegistryLogin& credentials : secrets) {
    failed = PullWithProgress(client, reference,
                              {credentials, "The login is from the pod's imagePullSecrets."})
                 .status();
    if (failed.ok()) return failed;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const PullAuth auth, UserLogin(auth_file, reference));
  if (!secrets.empty() && auth.credentials.user.empty() &&
      auth.credentials.identity_token.empty()) {
    return failed;
  }
  return PullWithProgress(client, reference, auth).status();
}

void NoteMissingPullSecrets(const pod::Manifest& pod, const pod::ConfigObjects* objects) {
  for (const std::string& name : pod::MissingPullSecrets(pod, objects)) {
    PrintNote(absl::StrCat(
        "note: ", pod.file, ": spec.imagePullSecrets: there is no ",
        pod::NameOf(pod::ObjectKind::kSecret, pod.pod_namespace, name),
        objects == nullptr ? "; --objects DIR names a directory with Secrets\n" : "\n"));
  }
}

// Imports an image that a package brings, if the daemon lacks it and no newer one is asked for.
absl::Status ImportPackaged(pod::Client& client, const pod::NeededImage& needed) {
  if (needed.pull_policy == "Always") return absl::OkStatus();
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  if (length < 0) return absl::OkStatus();
  const std::string directory =
      PackagedImagesOf(absl::string_view(self, static_cast<size_t>(length)));
  const std::string file = PackagedImageFile(directory, needed.reference);
  if (file.empty()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto image, client.ImageStatus(needed.reference));
  if (image) return absl::OkStatus();
  node::ImportImageRequest request;
  request.set_path(file);
  request.set_reference(needed.reference);
  PrintNote(absl::StrCat("note: imports image ", needed.reference, " from ", file, "\n"));
  const auto done = client.own().ImportImage(request, [](const node::ImageProgress::Progress&) {});
  // Another runtime than plimsolld has images from registries alone.
  if (!done.ok() && !absl::IsUnimplemented(done.status())) {
    PrintNote(absl::StrCat("note: it can't be imported: ", done.status().message(), "\n"));
  }
  return absl::OkStatus();
}

absl::StatusOr<cri::Image> EnsureImage(pod::PodImages& images, const pod::NeededImage& needed) {
  absl::StatusOr<cri::Image> image = images.Ensure(needed);
  if (!absl::IsNotFound(image.status()) || needed.pull_policy != "Never") return image;
  return WithHint(image.status(),
                  absl::StrCat("plimsoll image import FILE --name ", ShellQuote(needed.reference),
                               "  or  plimsoll image pull ", ShellQuote(needed.reference)));
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> EnsureImages(pod::Client& client,
                                                                const pod::Manifest& pod,
                                                                const pod::ConfigObjects* objects,
                                                                const std::string& auth_file) {
  NoteMissingPullSecrets(pod, objects);
  pod::PodImages images(client, [&](const std::string& reference) {
    return PullFor(client, pod, objects, auth_file, reference);
  });
  std::map<std::string, std::string> ids;
  std::set<std::string> noted;
  const std::vector<pod::NeededImage> needed = pod::ImagesOf(pod);
  for (size_t i = 0; i < needed.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(ImportPackaged(client, needed[i]));
    PLIMSOLL_ASSIGN_OR_RETURN(const cri::Image image, EnsureImage(images, needed[i]));
    if (i >= pod.containers.size()) {
      ids[needed[i].reference] = image.id();  // its programs need not run here
      continue;
    }
    if (noted.insert(needed[i].reference).second) {
      NoteForeignArchitecture(client, needed[i].reference);
    }
    PLIMSOLL_RETURN_IF_ERROR(pod::CheckNonRoot(pod, pod.containers[i], image));
  }
  return ids;
}

}  // namespace plimsoll::cli
