#include "image/registry/registry_hosts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/random_id.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "image/names/toml.h"
#include "image/registry/shown_urls.h"
#include "image/registry/skopeo_home.h"

namespace plimsoll::image {
namespace {

constexpr size_t kMaxHostsBytes = 1024 * 1024;
constexpr size_t kMaxMirrors = 100;
constexpr char kCertsD[] = "etc/containerd/certs.d";

// One table of the file: the whole for the server, or one of [host]'s.
class HostTable {
 public:
  HostTable(const toml::table& table, absl::string_view directory, std::string name)
      : table_(table), directory_(directory), name_(std::move(name)) {}

  // `url`: of the table's name, or of `server`.
  absl::StatusOr<RegistryHost> Read(absl::string_view url) const;
  absl::Status CheckKeys(const std::vector<absl::string_view>& known) const;
  absl::Status Wrong(absl::string_view key, absl::string_view expected) const {
    return absl::InvalidArgumentError(
        absl::StrCat(directory_, "/hosts.toml: ", name_, key, ": expected ", expected));
  }

 private:
  absl::StatusOr<bool> Bool(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return false;
    if (node->as_boolean() == nullptr) return Wrong(key, "true or false");
    return node->as_boolean()->get();
  }
  std::string Absolute(const std::string& path) const {
    return absl::StartsWith(path, "/") ? path : absl::StrCat(directory_, "/", path);
  }
  absl::Status ReadAddress(absl::string_view url, RegistryHost* host) const;
  absl::Status ReadHeaders(RegistryHost* host) const;
  absl::Status ReadCapabilities(RegistryHost* host) const;
  absl::Status ReadAuthorities(RegistryHost* host) const;
  absl::Status ReadClients(RegistryHost* host) const;

  const toml::table& table_;
  const absl::string_view directory_;
  const std::string name_;
};

absl::Status HostTable::CheckKeys(const std::vector<absl::string_view>& known) const {
  for (const auto& [key, value] : table_) {
    const absl::string_view name(key.str().data(), key.str().size());
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Wrong(absl::CEscape(name), absl::StrJoin(known, ", "));
    }
  }
  return absl::OkStatus();
}

absl::Status HostTable::ReadAddress(absl::string_view url, RegistryHost* host) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool override_path, Bool("override_path"));
  absl::string_view rest = url;
  host->plain = absl::ConsumePrefix(&rest, "http://");
  if (!host->plain) absl::ConsumePrefix(&rest, "https://");
  while (absl::ConsumeSuffix(&rest, "/")) {
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  host->host = std::string(rest.substr(0, slash));
  host->path = std::string(rest.substr(slash));
  if (!override_path && !absl::EndsWith(host->path, "/v2")) absl::StrAppend(&host->path, "/v2");
  // Without a port such a name would be the start of a path in Docker's registry.
  if (IsShortName(absl::StrCat(host->host, "/x"))) {
    absl::StrAppend(&host->host, host->plain ? ":80" : ":443");
  }
  if (host->host == "registry-1.docker.io") host->host = "docker.io";
  const absl::StatusOr<Reference> image = ParseReference(absl::StrCat(host->host, "/x"));
  const bool has_good_path = std::all_of(host->path.begin(), host->path.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains("/-._~%:@+", absl::string_view(&c, 1));
  });
  if (!image.ok() || image->registry != host->host || !image->digest.empty() || !has_good_path) {
    return Wrong(absl::CEscape(WithoutUrlSecrets(url)),
                 "an address, like https://mirror.example:5000");
  }
  return absl::OkStatus();
}

// RFC 9110, sections 5.1 and 5.5.
bool IsFieldName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains("!#$%&'*+-.^_`|~", absl::string_view(&c, 1));
  });
}

bool IsFieldValue(absl::string_view value) {
  return std::all_of(value.begin(), value.end(),
                     [](unsigned char c) { return c == '\t' || absl::ascii_isprint(c); });
}

absl::Status HostTable::ReadHeaders(RegistryHost* host) const {
  const toml::node* node = table_.get("header");
  if (node == nullptr) return absl::OkStatus();
  const char expected[] = "a table of texts, or of lists of texts";
  if (node->as_table() == nullptr) return Wrong("header", expected);
  for (const auto& [key, value] : *node->as_table()) {
    const std::string name(key.str().data(), key.str().size());
    const auto add = [&, field = name](const toml::node& element) {
      const std::string text = element.value_or(std::string());
      if (element.as_string() == nullptr || !IsFieldName(field) || !IsFieldValue(text))
        return false;
      host->headers.emplace_back(field, text);
      return true;
    };
    const toml::array* list = value.as_array();
    const bool good = list == nullptr ? add(value) : std::all_of(list->begin(), list->end(), add);
    if (!good) return Wrong(absl::StrCat("header.", absl::CEscape(name)), expected);
  }
  return absl::OkStatus();
}

absl::Status HostTable::ReadCapabilities(RegistryHost* host) const {
  const toml::node* node = table_.get("capabilities");
  if (node == nullptr) return absl::OkStatus();
  const char expected[] = "a list of pull, resolve and push";
  if (node->as_array() == nullptr) return Wrong("capabilities", expected);
  host->pulls = host->resolves = false;
  for (const toml::node& element : *node->as_array()) {
    const std::string word = element.value_or(std::string());
    if (word == "pull") host->pulls = true;
    if (word == "resolve") host->resolves = true;
    if (word != "pull" && word != "resolve" && word != "push") {
      return Wrong("capabilities", expected);
    }
  }
  return absl::OkStatus();
}

absl::Status HostTable::ReadAuthorities(RegistryHost* host) const {
  const toml::node* node = table_.get("ca");
  if (node == nullptr) return absl::OkStatus();
  if (node->as_string() != nullptr) {
    host->authorities.push_back(Absolute(node->as_string()->get()));
    return absl::OkStatus();
  }
  if (node->as_array() == nullptr) return Wrong("ca", "a file's path, or a list of paths");
  for (const toml::node& element : *node->as_array()) {
    if (element.as_string() == nullptr) return Wrong("ca", "a file's path, or a list of paths");
    host->authorities.push_back(Absolute(element.as_string()->get()));
  }
  return absl::OkStatus();
}

// "both.pem", ["both.pem", ...] or [["certificate", "key"], ...]
absl::Status HostTable::ReadClients(RegistryHost* host) const {
  const toml::node* node = table_.get("client");
  if (node == nullptr) return absl::OkStatus();
  const char expected[] =
      "a path of a file with certificate and key, a list of such, or a list of pairs "
      "[CERTIFICATE, KEY]";
  const auto add = [&](const toml::node& element) {
    if (element.as_string() != nullptr) {
      const std::string path = Absolute(element.as_string()->get());
      host->clients.push_back({path, path});
      return true;
    }
    const toml::array* pair = element.as_array();
    if (pair == nullptr || pair->size() != 2 || pair->get_as<std::string>(0) == nullptr ||
        pair->get_as<std::string>(1) == nullptr) {
      return false;
    }
    host->clients.push_back({Absolute(pair->get_as<std::string>(0)->get()),
                             Absolute(pair->get_as<std::string>(1)->get())});
    return true;
  };
  if (node->as_string() != nullptr) {
    add(*node);
    return absl::OkStatus();
  }
  if (node->as_array() == nullptr) return Wrong("client", expected);
  for (const toml::node& element : *node->as_array()) {
    if (!add(element)) return Wrong("client", expected);
  }
  return absl::OkStatus();
}

absl::StatusOr<RegistryHost> HostTable::Read(absl::string_view url) const {
  RegistryHost host;
  PLIMSOLL_RETURN_IF_ERROR(ReadAddress(url, &host));
  PLIMSOLL_ASSIGN_OR_RETURN(host.skip_verify, Bool("skip_verify"));
  PLIMSOLL_RETURN_IF_ERROR(ReadHeaders(&host));
  PLIMSOLL_RETURN_IF_ERROR(ReadCapabilities(&host));
  PLIMSOLL_RETURN_IF_ERROR(ReadAuthorities(&host));
  PLIMSOLL_RETURN_IF_ERROR(ReadClients(&host));
  return host;
}

// The entries in the order of the file, which containerd tries them in; toml++ sorts them by name.
std::vector<std::pair<std::string, const toml::node*>> InOrder(const toml::table& table) {
  std::vector<std::pair<std::string, const toml::node*>> entries;
  for (const auto& [key, value] : table) {
    entries.emplace_back(std::string(key.str().data(), key.str().size()), &value);
  }
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.second->source().begin < b.second->source().begin;
  });
  return entries;
}

absl::Status ReadMirrors(const toml::table& document, absl::string_view directory,
                         std::vector<RegistryHost>* mirrors) {
  const HostTable whole(document, directory, "");
  const toml::node* node = document.get("host");
  if (node == nullptr) return absl::OkStatus();
  if (node->as_table() == nullptr) return whole.Wrong("host", "tables [host.\"ADDRESS\"]");
  for (const auto& [url, value] : InOrder(*node->as_table())) {
    if (value->as_table() == nullptr) return whole.Wrong("host", "tables [host.\"ADDRESS\"]");
    const HostTable table(*value->as_table(), directory,
                          absl::StrCat("host.\"", absl::CEscape(url), "\": "));
    PLIMSOLL_RETURN_IF_ERROR(table.CheckKeys({"capabilities", "ca", "client", "header",
                                              "skip_verify", "override_path", "dial_timeout"}));
    PLIMSOLL_ASSIGN_OR_RETURN(RegistryHost mirror, table.Read(url));
    if (mirror.pulls || mirror.resolves) mirrors->push_back(std::move(mirror));
    if (mirrors->size() > kMaxMirrors) {
      return whole.Wrong("host", absl::StrCat("at most ", kMaxMirrors, " of them"));
    }
  }
  return absl::OkStatus();
}

std::string EntryOf(const std::string& location, bool insecure) {
  return absl::StrCat("location = \"", location, "\"\ninsecure = ", insecure ? "true" : "false",
                      "\n");
}

absl::StatusOr<std::string> ReadPem(const FsRoot& host, absl::string_view key,
                                    const std::string& path) {
  absl::StatusOr<std::string> text = ReadRegularFile(host, path, kMaxHostsBytes);
  return text.ok() ? text : Annotate(text.status(), key);
}

absl::StatusOr<dial::TlsTrust> TrustOf(const RegistryHost& each, const FsRoot& host) {
  dial::TlsTrust trust;
  for (const std::string& path : each.authorities) {
    PLIMSOLL_ASSIGN_OR_RETURN(trust.authorities.emplace_back(), ReadPem(host, "ca", path));
  }
  for (const ClientCertificate& client : each.clients) {
    dial::TlsIdentity& identity = trust.identities.emplace_back();
    PLIMSOLL_ASSIGN_OR_RETURN(identity.certificate, ReadPem(host, "client", client.certificate));
    PLIMSOLL_ASSIGN_OR_RETURN(identity.key, ReadPem(host, "client", client.key));
  }
  return trust;
}

// The relay has secrets of the file, so it serves this pull's skopeo alone.
absl::StatusOr<MirrorRelay> StartRelay(const RegistryHost& each, const dial::TlsTrust& trust) {
  RelayOptions options{.path = each.path, .headers = each.headers};
  options.address = {.registry = each.host, .plain = each.plain};
  if (!each.skip_verify) options.address.trust = trust;
  if (each.skip_verify) options.address.trust.reset();
  if (IsBehindProxy(options.address)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "mirror ", each.host,
        ": `header`, and a path outside of /v2, work only where it is reached without an HTTP "
        "proxy"));
  }
  MirrorRelay made{.mirror = each.host};
  if (!each.headers.empty() || !trust.identities.empty()) {
    made.password = RandomId();
    options.authorization =
        absl::StrCat("Basic ", absl::Base64Escape(absl::StrCat(kRelayUser, ":", made.password)));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(made.relay, RegistryRelay::Start(std::move(options)));
  return made;
}

// Adds the lines of registries.conf, and a relay where one is needed.
absl::Status AddMirror(const RegistryHost& mirror, const FsRoot& host, const FsRoot& home,
                       std::string* text, std::vector<MirrorRelay>* relays) {
  PLIMSOLL_ASSIGN_OR_RETURN(dial::TlsTrust trust, TrustOf(mirror, host));
  std::string location = mirror.Location();
  if (location.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(MirrorRelay made, StartRelay(mirror, trust));
    location = made.relay->host();
    if (!made.relay->authority().empty()) trust.authorities.push_back(made.relay->authority());
    PLIMSOLL_RETURN_IF_ERROR(WriteTrust(home, location, trust));
    relays->push_back(std::move(made));
  } else {
    PLIMSOLL_RETURN_IF_ERROR(WriteTrust(home, mirror.host, trust));
  }
  absl::StrAppend(text, "[[registry.mirror]]\n",
                  EntryOf(location, mirror.skip_verify || mirror.plain));
  if (!mirror.resolves) absl::StrAppend(text, "pull-from-mirror = \"digest-only\"\n");
  if (!mirror.pulls) absl::StrAppend(text, "pull-from-mirror = \"tag-only\"\n");
  return absl::OkStatus();
}

}  // namespace

std::string RegistryHost::Location() const {
  if (!headers.empty()) return "";
  if (path == "/v2") return host;
  absl::string_view prefix = path;
  if (!absl::ConsumePrefix(&prefix, "/v2/")) return "";
  const std::string location = absl::StrCat(host, "/", prefix);
  return ParseReference(location + "/x").ok() ? location : "";
}

absl::StatusOr<RegistryHosts> ParseRegistryHosts(absl::string_view text,
                                                 absl::string_view directory,
                                                 absl::string_view registry) {
  RegistryHosts hosts{.file = absl::StrCat(directory, "/hosts.toml")};
  PLIMSOLL_ASSIGN_OR_RETURN(const toml::table document, ParseToml(text, hosts.file));
  const HostTable whole(document, directory, "");
  if (document.contains("header")) {
    return whole.Wrong("header", "it in a [host.\"ADDRESS\"] alone: skopeo sends none");
  }
  PLIMSOLL_RETURN_IF_ERROR(whole.CheckKeys({"server", "host", "capabilities", "ca", "client",
                                            "skip_verify", "override_path", "dial_timeout"}));
  const toml::node* server = document.get("server");
  if (server != nullptr && server->as_string() == nullptr) {
    return whole.Wrong("server", "an address, like https://registry.example");
  }
  const std::string url = server == nullptr ? "" : server->as_string()->get();
  PLIMSOLL_ASSIGN_OR_RETURN(hosts.server, whole.Read(url.empty() ? registry : url));
  if (hosts.server.Location().empty()) {
    return whole.Wrong(absl::CEscape(url), "an address below /v2, which skopeo can be told");
  }
  if (!hosts.server.pulls || !hosts.server.resolves) {
    return whole.Wrong("capabilities", "pull and resolve for the server, which skopeo asks last");
  }
  PLIMSOLL_RETURN_IF_ERROR(ReadMirrors(document, directory, &hosts.mirrors));
  return hosts;
}

absl::StatusOr<std::optional<RegistryHosts>> ReadRegistryHosts(const FsRoot& host,
                                                               absl::string_view registry) {
  std::vector<std::string> names = {std::string(registry)};
  if (const size_t colon = registry.rfind(':'); colon != absl::string_view::npos) {
    names.insert(names.begin(),
                 absl::StrCat(registry.substr(0, colon), "_", registry.substr(colon + 1), "_"));
  }
  for (const std::string& name : names) {
    const std::string directory = absl::StrCat(kCertsD, "/", name);
    const absl::StatusOr<std::string> text =
        ReadRegularFile(host, directory + "/hosts.toml", kMaxHostsBytes);
    if (absl::IsNotFound(text.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(text.status());
    // Relative paths in the file are of `host`, too.
    PLIMSOLL_ASSIGN_OR_RETURN(RegistryHosts hosts,
                              ParseRegistryHosts(*text, absl::StrCat("/", directory), registry));
    return hosts;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<MirrorRelay>> WriteRegistryHosts(const RegistryHosts& hosts,
                                                            const FsRoot& host,
                                                            absl::string_view registry,
                                                            const FsRoot& home) {
  PLIMSOLL_ASSIGN_OR_RETURN(const dial::TlsTrust trust, TrustOf(hosts.server, host));
  PLIMSOLL_RETURN_IF_ERROR(WriteTrust(home, hosts.server.host, trust));
  std::string text = absl::StrCat(
      "[[registry]]\nprefix = \"", registry, "\"\n",
      EntryOf(hosts.server.Location(), hosts.server.skip_verify || hosts.server.plain));
  std::vector<MirrorRelay> relays;
  for (const RegistryHost& mirror : hosts.mirrors) {
    PLIMSOLL_RETURN_IF_ERROR(AddMirror(mirror, host, home, &text, &relays));
  }
  PLIMSOLL_RETURN_IF_ERROR(WriteRegistries(home, "hosts", text));
  return relays;
}

absl::StatusOr<std::vector<MirrorRelay>> BringRegistryHosts(const FsRoot& host,
                                                            const Reference& image,
                                                            ShortNames& registries_conf,
                                                            const FsRoot& home) {
  const auto hosts = ReadRegistryHosts(host, image.registry);
  if (hosts.ok() && !hosts->has_value()) return std::vector<MirrorRelay>();
  absl::Status status = registries_conf.Read();
  if (status.ok() && registries_conf.EntryFor(image)) return std::vector<MirrorRelay>();
  status = FirstError(std::move(status), hosts.status());
  if (status.ok()) {
    absl::StatusOr<std::vector<MirrorRelay>> relays =
        WriteRegistryHosts(**hosts, host, image.registry, home);
    if (relays.ok() || absl::IsResourceExhausted(relays.status())) return relays;
    status = Annotate(relays.status(), (*hosts)->file);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("pull ", image.Canonical(), ": ", status.message()));
}

}  // namespace plimsoll::image
