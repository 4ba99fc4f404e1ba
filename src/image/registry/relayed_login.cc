#include "image/registry/relayed_login.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "image/names/short_names.h"
#include "image/registry/registry_hosts.h"
#include "image/registry/skopeo_home.h"

namespace plimsoll::image {
namespace {

constexpr absl::Duration kProbePatience = absl::Minutes(1);

// The address of a repository, as registries.conf or hosts.toml set it.
struct Location {
  std::string repository;  // "quay.io/team/app"
  bool insecure = false;
};

absl::StatusOr<Location> LocationOf(const RefusedPull& pull) {
  const std::string name = pull.reference.Name();
  ShortNames conf(pull.host, pull.registries_conf);
  PLIMSOLL_RETURN_IF_ERROR(conf.Read());
  if (const std::optional<RegistryEntry> entry = conf.EntryFor(pull.reference)) {
    const bool moves = !entry->location.empty() && !absl::StartsWith(entry->prefix, "*");
    return Location{
        moves ? absl::StrCat(entry->location, absl::StripPrefix(name, entry->prefix)) : name,
        entry->insecure};
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<RegistryHosts> hosts,
                            ReadRegistryHosts(pull.host, pull.reference.registry));
  if (!hosts) return Location{name, false};
  return Location{absl::StrCat(hosts->server.Location(), "/", pull.reference.repository),
                  hosts->server.skip_verify || hosts->server.plain};
}

// An insecure registry is asked by HTTPS first, as skopeo does.
absl::StatusOr<std::vector<std::string>> Probe(RegistryAddress* address, const std::string& path,
                                               const std::function<bool()>& cancelled) {
  const dial::Until until{.deadline = SteadyAfter(kProbePatience), .given_up = cancelled};
  absl::StatusOr<std::vector<std::string>> found = FindChallenges(*address, path, until);
  if (address->trust.has_value() || !absl::IsUnavailable(found.status())) return found;
  address->plain = true;
  return FindChallenges(*address, path, until);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RegistryRelay>> RelayLogin(const RefusedPull& pull,
                                                          const FsRoot& home) {
  const Reference& reference = pull.reference;
  PLIMSOLL_ASSIGN_OR_RETURN(const Location location, LocationOf(pull));
  absl::string_view repository = location.repository;
  // Docker Hub asks at /v2/.
  if (reference.registry == "docker.io" ||
      !absl::ConsumePrefix(&repository, absl::StrCat(reference.registry, "/"))) {
    return absl::NotFoundError("the pull's credentials go to another host");
  }
  if (IsBehindProxy({.registry = reference.registry})) {
    return absl::FailedPreconditionError(
        "a registry that is open at /v2/ is sent credentials only where it is reached without an "
        "HTTP proxy");
  }
  dial::TlsTrust trust = ReadTrust(pull.host, home, reference.registry);
  RegistryAddress address{.registry = reference.registry};
  const bool insecure = pull.insecure || location.insecure;
  address.trust = insecure ? std::nullopt : std::optional(trust);
  const std::string path =
      absl::StrCat("/v2/", repository, "/manifests/",
                   reference.digest.empty() ? reference.tag : reference.digest);
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> challenges,
                            Probe(&address, path, pull.cancelled));
  // Any program of this machine can use the relay, and so would use the certificate.
  if (!trust.identities.empty()) {
    return absl::FailedPreconditionError(
        "a registry that is open at /v2/ is sent credentials only where it is shown no client "
        "certificate");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      std::unique_ptr<RegistryRelay> relay,
      RegistryRelay::Start({.address = std::move(address), .challenges = std::move(challenges)}));
  // skopeo believes the relay, and goes on believing the registry: its tokens may come from there.
  if (!relay->authority().empty()) trust.authorities.push_back(relay->authority());
  PLIMSOLL_RETURN_IF_ERROR(WriteTrust(home, relay->host(), trust));
  PLIMSOLL_RETURN_IF_ERROR(
      WriteRegistries(home, "relay",
                      absl::StrCat("[[registry]]\nprefix = \"", reference.Name(),
                                   "\"\nlocation = \"", relay->host(), "/", repository,
                                   "\"\ninsecure = ", insecure ? "true" : "false", "\n")));
  return relay;
}

}  // namespace plimsoll::image
