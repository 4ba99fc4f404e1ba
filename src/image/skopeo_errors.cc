#include "image/skopeo_errors.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "image/registry/shown_urls.h"

namespace plimsoll::image {
namespace {

// skopeo's limit for a manifest and a config, equal to ours.
constexpr absl::string_view kTooLarge = "exceeded maximum allowed size of 4194304 bytes";
constexpr absl::string_view kWhatIsTooLarge = ", the limit for an image's manifest or config";
constexpr absl::string_view kFatal = "level=fatal";
constexpr char kSignatureRefusal[] = "plimsoll.dev/signature-refusal";
constexpr char kNoTls[] = "plimsoll.dev/no-tls";

// skopeo reports every failure to open an image as one of parsing its name, even when the registry
// is off.
std::string WithoutPreamble(std::string reason) {
  constexpr char kStart[] = "Error parsing image name \"";
  constexpr char kEnd[] = "\": ";
  const size_t end = reason.find(kEnd);
  if (!absl::StartsWith(reason, kStart) || end == std::string::npos) return reason;
  return reason.substr(end + sizeof(kEnd) - 1);
}

// skopeo logs as time="..." level=fatal msg="..."; the last such message is the reason.
std::string Reason(absl::string_view err) {
  std::string reason;
  for (absl::string_view line : absl::StrSplit(err, '\n', absl::SkipEmpty())) {
    if (absl::StrContains(line, "level=debug")) continue;
    const size_t start = line.find("msg=\"");
    const bool logged = start != absl::string_view::npos && absl::EndsWith(line, "\"");
    if (logged && (absl::StrContains(line, kFatal) || reason.empty())) {
      const absl::string_view quoted = line.substr(start + 5, line.size() - start - 6);
      reason = absl::StrReplaceAll(quoted, {{"\\\"", "\""}, {"\\\\", "\\"}});
    } else if (reason.empty() && !logged) {
      reason = std::string(line);
    }
  }
  return WithoutUrlSecrets(WithoutPreamble(reason)).substr(0, 1000);
}

bool HasAny(absl::string_view text, std::initializer_list<absl::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [text](absl::string_view part) { return absl::StrContains(text, part); });
}

// Failed mirrors come first; the registry's own answer, behind them, counts.
absl::string_view OfTheRegistryItself(absl::string_view reason) {
  constexpr absl::string_view kEndOfMirrors = "]): ";
  if (!absl::StrContains(reason, "mirrors also failed: [")) return reason;
  const size_t end = reason.rfind(kEndOfMirrors);
  return end == absl::string_view::npos ? reason : reason.substr(end + kEndOfMirrors.size());
}

bool IsSignaturePolicy(absl::string_view text) {
  return HasAny(text, {"source image rejected", "rejected by policy", "signature was required"});
}

// Go's client names the failed request. The other texts are from answers that no registry gives,
// for a manifest, a blob or a token.
bool IsBrokenAnswer(absl::string_view text) {
  return HasAny(text, {"get \"http",
                       "head \"http",
                       "post \"http",
                       "unsupported protocol scheme",
                       "stopped after 10 redirects",
                       "net/http: ",
                       "malformed http",
                       "malformed mime header",
                       "status code from registry",
                       "http status: ",
                       "status code ",
                       "reading manifest ",
                       "fetching blob",
                       "reading blob",
                       "gzip: ",
                       "bearer auth challenge",
                       "parse \"http",
                       "exceeded maximum allowed size",
                       "invalid character",
                       "json: cannot unmarshal"});
}

absl::StatusCode CodeFor(const std::string& reason) {
  // skopeo from 1.18 writes "StatusCode: 404" for a blob, earlier ones "status code 404".
  const std::string all =
      absl::StrReplaceAll(absl::AsciiStrToLower(reason), {{"statuscode: ", "status code "}});
  const absl::string_view text = OfTheRegistryItself(all);
  if (IsSignaturePolicy(text)) return absl::StatusCode::kFailedPrecondition;
  if (HasAny(text, {" is blocked in "})) return absl::StatusCode::kPermissionDenied;
  if (HasAny(text, {"loading registries configuration"})) {
    return absl::StatusCode::kFailedPrecondition;
  }
  if (HasAny(text, {"manifest unknown", "name unknown", "repository name not known", "name invalid",
                    "not found", "status code 404"})) {
    // An unknown host is not a registry's answer.
    if (!absl::StrContains(text, "no such host")) return absl::StatusCode::kNotFound;
  }
  if (HasAny(text, {"unauthorized", "authentication required", "denied", "forbidden",
                    "invalid username/password", "status code 401", "status code 403"})) {
    return absl::StatusCode::kPermissionDenied;
  }
  if (HasAny(text, {"corrupted blob", "bytes in blob", "digest did not match",
                    "does not match digest", "does not match provided manifest digest",
                    "digest mismatch", "digest verification", "size mismatch"})) {
    return absl::StatusCode::kDataLoss;
  }
  if (HasAny(text, {"no space left", "disk quota", kTooLarge})) {
    return absl::StatusCode::kResourceExhausted;
  }
  if (HasAny(text,
             {"connection refused", "no such host", "timeout", "timed out", "unreachable",
              "server misbehaving", "connection reset", "x509", "tls:", "eof",
              "server gave http response", "too many requests", "toomanyrequests", "status code 5",
              "http status: 5", "pinging container registry", "no route to host"})) {
    return absl::StatusCode::kUnavailable;
  }
  if (IsBrokenAnswer(text)) return absl::StatusCode::kUnavailable;
  return absl::StatusCode::kInternal;
}

absl::string_view BehindLast(absl::string_view text, absl::string_view part) {
  const size_t start = text.rfind(part);
  return start == absl::string_view::npos ? "" : text.substr(start + part.size());
}

std::string WithoutSecrets(absl::string_view stderr_text, const Credentials& secrets) {
  const std::string basic =
      absl::Base64Escape(absl::StrCat(secrets.username, ":", secrets.password));
  std::string text(stderr_text);
  for (const std::string& secret :
       {secrets.empty() ? std::string() : basic, secrets.password, secrets.identity_token,
        absl::CEscape(secrets.password), absl::Base64Escape(secrets.password)}) {
    text = WithoutWord(text, secret);
  }
  return text;
}

// The host of the requested address, "" without one.
std::string HostAsked(absl::string_view reason) {
  const size_t scheme = reason.find("https://");
  if (scheme == absl::string_view::npos) return "";
  const absl::string_view rest = reason.substr(scheme + 8);
  return std::string(rest.substr(0, rest.find_first_of("/\"")));
}

// Go's client recognizes an answer in HTTP, but not an answer of another form or of an old version.
bool IsPlainHttp(absl::string_view reason) {
  return HasAny(reason, {"server gave HTTP response to HTTPS client",
                         "first record does not look like a TLS handshake"});
}

absl::string_view RegistryOf(absl::string_view reference) {
  return reference.substr(0, reference.find('/'));
}

// True where the registry itself, no mirror of it, had no TLS to offer: it answered with HTTP, or
// ended the connection.
bool HasNoTls(absl::string_view reason, absl::string_view reference) {
  if (HostAsked(reason) != RegistryOf(reference)) return false;
  return IsPlainHttp(reason) || absl::EndsWith(reason, ": EOF") ||
         absl::StrContains(reason, "connection reset by peer");
}

std::string ListAsInsecure(absl::string_view registry) {
  return absl::StrCat(
      "list ", registry,
      " under registries.insecure in the daemon's configuration (read again on SIGHUP)");
}

// Advice about a registry with which TLS failed.
std::string Remedy(absl::string_view reason, absl::string_view reference) {
  const bool is_plain = IsPlainHttp(reason);
  if (!is_plain && !absl::StrContains(reason, "x509: ")) return "";
  const absl::string_view registry = RegistryOf(reference);
  const std::string asked = HostAsked(reason);
  const std::string what =
      asked.empty() || asked == registry
          ? ListAsInsecure(registry)
          : absl::StrCat("set insecure = true for ", asked, " in registries.conf");
  return is_plain ? absl::StrCat("; it speaks plain HTTP: if it may, ", what)
                  : absl::StrCat("; add its authority to this machine's trusted ones, or ", what);
}

}  // namespace

absl::Status TranslateSkopeoError(absl::string_view stderr_text, absl::string_view reference,
                                  const Credentials& secrets) {
  const std::string reason = Reason(WithoutSecrets(stderr_text, secrets));
  const absl::StatusCode code = CodeFor(reason);
  absl::Status status(code,
                      absl::StrCat("pull ", reference, ": ",
                                   reason.empty() ? "skopeo failed without a message" : reason,
                                   absl::StrContains(reason, kTooLarge) ? kWhatIsTooLarge : "",
                                   Remedy(reason, reference)));
  if (IsSignaturePolicy(absl::AsciiStrToLower(reason))) {
    status.SetPayload(kSignatureRefusal, absl::Cord());
  }
  if (HasNoTls(reason, reference)) status.SetPayload(kNoTls, absl::Cord());
  return status;
}

absl::Status SkopeoHasEnded(absl::string_view how, absl::string_view stderr_text,
                            absl::string_view reference, const Credentials& secrets) {
  if (absl::StrContains(stderr_text, kFatal)) {
    return TranslateSkopeoError(stderr_text, reference, secrets);
  }
  const std::string words = Reason(WithoutSecrets(stderr_text, secrets));
  return absl::UnavailableError(absl::StrCat(
      "pull ", reference, ": the image tool skopeo has ended (", how, ")",
      words.empty() ? "" : absl::StrCat(": ", words), "; the pull may be tried again"));
}

absl::Duration RetryAfter(absl::string_view stderr_text, absl::string_view name) {
  const absl::string_view place = BehindLast(stderr_text, "Trying to access \\\"");
  if (!absl::StartsWith(place, name)) return absl::ZeroDuration();
  const absl::string_view wish = BehindLast(place, "Detected 'Retry-After' header \\\"");
  int64_t seconds = 0;  // skopeo handles dates
  if (!absl::SimpleAtoi(wish.substr(0, wish.find('\\')), &seconds)) return absl::ZeroDuration();
  return absl::Seconds(seconds);
}

absl::Status OnPlainLoopback(const absl::Status& status, absl::string_view reference) {
  const absl::string_view message = status.message();
  const absl::string_view registry = RegistryOf(reference);
  if (absl::IsPermissionDenied(status)) {
    return absl::PermissionDeniedError(absl::StrCat(
        message, "; it speaks plain HTTP: to log in there, ", ListAsInsecure(registry)));
  }
  const size_t proxy = message.find(absl::StrCat(": proxyconnect tcp: dial tcp ", kNoProxy));
  const size_t scheme = message.substr(0, proxy).rfind("://");
  if (proxy == absl::string_view::npos || scheme == absl::string_view::npos) return status;
  const absl::string_view host = message.substr(scheme + 3);
  return absl::UnavailableError(absl::StrCat(
      "pull ", reference, ": ", registry, " leads to ", host.substr(0, host.find_first_of("/\"")),
      "; a pull from a registry on this machine's loopback over plain HTTP reaches no other host. "
      "If it may, ",
      ListAsInsecure(registry)));
}

bool SpeaksNoTls(const absl::Status& status) {
  return status.GetPayload(kNoTls).has_value();
}

bool IsSignatureRefusal(const absl::Status& status) {
  return status.GetPayload(kSignatureRefusal).has_value();
}

}  // namespace plimsoll::image
