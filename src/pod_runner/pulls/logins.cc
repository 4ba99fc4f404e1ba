#include "pod_runner/pulls/logins.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "image/names/reference.h"

namespace plimsoll::pod {
namespace {

constexpr size_t kMaxLoginBytes = 1024 * 1024;
constexpr size_t kMaxHelperBytes = 64 * 1024;
constexpr size_t kMaxShownBytes = 200;
// The answer of every helper that has no login (docker-credential-helpers, credentials/error.go).
constexpr absl::string_view kNoLogin = "credentials not found in native keychain";
// In place of a user's name: the secret is an identity token (docker-credential-helpers, README).
constexpr absl::string_view kTokenUser = "<token>";

absl::StatusOr<std::string> ReadLoginFile(const std::string& file) {
  char resolved[PATH_MAX];
  if (realpath(file.c_str(), resolved) == nullptr) return ErrnoStatus(errno, "open " + file);
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  return ReadRegularFile(root, resolved, kMaxLoginBytes);
}

// The first line that a failed helper wrote; such a helper gives no secret.
std::string WordsOf(const RunResult& result) {
  const absl::string_view all =
      absl::StripAsciiWhitespace(result.out.empty() ? result.err : result.out);
  return Printable(all.substr(0, all.find('\n')).substr(0, kMaxShownBytes));
}

// nullopt: the helper has no login for the server.
absl::StatusOr<std::optional<RegistryLogin>> AskHelper(const HelperCall& call,
                                                       absl::Duration timeout) {
  const absl::StatusOr<std::string> program = FindProgram(call.program);
  if (!program.ok()) return absl::FailedPreconditionError(program.status().message());
  Command command{.argv = {*program, "get"}, .environment = {}};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    command.environment.emplace_back(*variable);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      const RunResult result,
      RunProgram(std::move(command),
                 {.timeout = timeout, .max_output_bytes = kMaxHelperBytes, .input = call.server}));
  if (!result.exit.success()) {
    if (absl::StrContains(result.out, kNoLogin)) return std::nullopt;
    return absl::UnavailableError(absl::StrCat(call.program, " get, for ", call.server, ": ",
                                               result.exit.ToString(), ": ", WordsOf(result)));
  }
  const auto answer = nlohmann::json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  const auto text = [&answer](const char* key) -> std::string {
    if (!answer.is_object() || !answer.contains(key) || !answer[key].is_string()) return "";
    return answer[key].get<std::string>();
  };
  const std::string user = text("Username");
  const std::string secret = text("Secret");
  if (user.empty() || secret.empty()) {
    return absl::InternalError(absl::StrCat(
        call.program, " get, for ", call.server,
        ": its answer (not shown) is no JSON object with \"Username\" and \"Secret\""));
  }
  if (user == kTokenUser) return RegistryLogin{.identity_token = secret};
  return RegistryLogin{.user = user, .password = secret};
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A service has no HOME.
std::string Home() {
  if (std::string home = Variable("HOME"); !home.empty()) return home;
  struct passwd entry = {};
  struct passwd* found = nullptr;
  char text[4096];
  if (getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) != 0 || found == nullptr) return "";
  return found->pw_dir;
}

bool IsMissing(const std::string& file) {
  struct stat ignored = {};
  return stat(file.c_str(), &ignored) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

}  // namespace

std::string RegistryOf(absl::string_view reference) {
  const absl::StatusOr<image::Reference> image = image::ParseReference(reference);
  return image.ok() ? image->registry : "";
}

absl::StatusOr<Login> ReadLogin(const std::string& file, absl::string_view reference,
                                absl::Duration helper_timeout) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadLoginFile(file));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<HelperCall> calls, HelpersFor(text, file, reference));
  absl::Status failed;
  for (const HelperCall& call : calls) {
    absl::StatusOr<std::optional<RegistryLogin>> answer = AskHelper(call, helper_timeout);
    if (answer.ok() && answer->has_value()) {
      return Login{**std::move(answer), absl::StrCat(file, " (", call.program, ")")};
    }
    failed = FirstError(std::move(failed), Annotate(answer.status(), file));
  }
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.contains("auths")) {
    absl::StatusOr<RegistryLogin> found = FindCredentials(text, file, reference);
    if (found.ok()) return Login{*std::move(found), file};
    if (!absl::IsNotFound(found.status())) return found.status();
  }
  PLIMSOLL_RETURN_IF_ERROR(failed);
  return absl::NotFoundError(absl::StrCat(file, ": no login for ", Printable(reference),
                                          " or its registry ", RegistryOf(reference)));
}

std::vector<std::string> LoginFiles() {
  if (std::string only = Variable("REGISTRY_AUTH_FILE"); !only.empty()) return {only};
  const std::string user = absl::StrCat(geteuid());
  const std::string home = Home();
  std::string runtime = Variable("XDG_RUNTIME_DIR");
  if (runtime.empty()) runtime = absl::StrCat("/run/user/", user);
  std::string config = Variable("XDG_CONFIG_HOME");
  if (config.empty() && !home.empty()) config = home + "/.config";
  std::string docker = Variable("DOCKER_CONFIG");
  if (docker.empty() && !home.empty()) docker = home + "/.docker";
  std::vector<std::string> files = {runtime + "/containers/auth.json",
                                    absl::StrCat("/run/containers/", user, "/auth.json")};
  if (!config.empty()) files.push_back(config + "/containers/auth.json");
  if (!docker.empty()) files.push_back(docker + "/config.json");
  return files;
}

LoginSearch FindLogin(const std::vector<std::string>& files, absl::string_view reference,
                      absl::Duration helper_timeout) {
  LoginSearch search;
  for (const std::string& file : files) {
    if (IsMissing(file)) {
      search.missing.push_back(file);
      continue;
    }
    absl::StatusOr<Login> login = ReadLogin(file, reference, helper_timeout);
    if (login.ok()) {
      search.login = *std::move(login);
      return search;
    }
    if (absl::IsNotFound(login.status())) {
      search.without.push_back(file);
    } else {
      search.failed.emplace_back(login.status().message());
    }
  }
  return search;
}

std::string LoginSearch::InWords(absl::string_view reference) const {
  if (login.has_value()) return absl::StrCat("the login is from ", login->source);
  std::vector<std::string> parts;
  if (!without.empty()) parts.push_back(absl::StrCat("none in ", absl::StrJoin(without, ", ")));
  if (!missing.empty()) parts.push_back(absl::StrCat("not there: ", absl::StrJoin(missing, ", ")));
  if (!failed.empty()) parts.push_back(absl::StrCat("failed: ", absl::StrJoin(failed, ", ")));
  return absl::StrCat("no login for ", RegistryOf(reference), " was found (",
                      absl::StrJoin(parts, "; "), ")");
}

}  // namespace plimsoll::pod
