#include "image/names/short_names.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "image/names/toml.h"

namespace plimsoll::image {
namespace {

constexpr size_t kMaxShortNamesBytes = 1024 * 1024;
constexpr size_t kMaxFiles = 1000;
constexpr char kDefaultFile[] = "etc/containers/registries.conf";
constexpr char kDirectory[] = "etc/containers/registries.conf.d";

absl::Status WrongShortName(absl::string_view file, absl::string_view key,
                            absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", key, ": expected ", expected));
}

absl::Status ReadSearch(const toml::node* node, absl::string_view file, absl::string_view key,
                        ShortNameConfig* config) {
  if (node == nullptr) return absl::OkStatus();
  const toml::array* list = node->as_array();
  if (list == nullptr) return WrongShortName(file, key, "a list of registries");
  std::vector<std::string> search;
  for (const toml::node& element : *list) {
    const toml::value<std::string>* text = element.as_string();
    if (text == nullptr) return WrongShortName(file, key, "a list of registries");
    search.push_back(text->get());
  }
  config->search = std::move(search);
  return absl::OkStatus();
}

absl::Status ReadMode(const toml::node* node, absl::string_view file, ShortNameConfig* config) {
  if (node == nullptr) return absl::OkStatus();
  const toml::value<std::string>* mode = node->as_string();
  const std::string value = mode == nullptr ? "?" : mode->get();
  if (value != "" && value != "enforcing" && value != "permissive" && value != "disabled") {
    return WrongShortName(file, "short-name-mode", "enforcing, permissive or disabled");
  }
  if (!value.empty()) config->mode = value;
  return absl::OkStatus();
}

absl::Status ReadAliases(const toml::node* node, absl::string_view file, ShortNameConfig* config) {
  if (node == nullptr) return absl::OkStatus();
  const toml::table* table = node->as_table();
  if (table == nullptr) return WrongShortName(file, "aliases", "a table of names");
  for (const auto& [key, element] : *table) {
    const toml::value<std::string>* value = element.as_string();
    const std::string name(key.str().data(), key.str().size());
    if (value == nullptr)
      return WrongShortName(file, absl::StrCat("aliases.", name), "a full image name");
    if (value->get().empty()) {
      config->aliases.erase(name);
    } else {
      config->aliases[name] = value->get();
    }
  }
  return absl::OkStatus();
}

std::string TextIn(const toml::table& table, const char* key) {
  const toml::node* value = table.get(key);
  return value == nullptr || value->as_string() == nullptr ? "" : value->as_string()->get();
}

// Faults in an entry are skopeo's to report.
void ReadRegistries(const toml::node* node, ShortNameConfig* config) {
  if (node == nullptr || node->as_array() == nullptr) return;
  for (const toml::node& element : *node->as_array()) {
    const toml::table* table = element.as_table();
    if (table == nullptr) continue;
    RegistryEntry entry{.prefix = TextIn(*table, "prefix"), .location = TextIn(*table, "location")};
    if (entry.prefix.empty()) entry.prefix = entry.location;
    if (entry.prefix.empty()) continue;
    const toml::node* insecure = table->get("insecure");
    entry.insecure = insecure != nullptr && insecure->value_or(false);
    config->registries.push_back(std::move(entry));
  }
}

// containers-registries.conf(5), "prefix"; "*.example.com" stands for the subdomains.
bool Applies(absl::string_view prefix, absl::string_view name) {
  size_t end = prefix.size();
  if (absl::ConsumePrefix(&prefix, "*")) {
    const size_t start = name.find(prefix);
    if (start == absl::string_view::npos || name.find('/') < start) return false;
    end = start + prefix.size();
  } else if (!absl::StartsWith(name, prefix)) {
    return false;
  }
  return end >= name.size() || absl::StrContains(":/@", name.substr(end, 1));
}

// "team/app" of "team/app:1@sha256:...".
std::string NameOf(absl::string_view text) {
  const absl::string_view without_digest = text.substr(0, text.find('@'));
  const size_t slash = without_digest.rfind('/');
  const size_t colon = without_digest.rfind(':');
  const bool has_tag =
      colon != absl::string_view::npos && (slash == absl::string_view::npos || colon > slash);
  return std::string(has_tag ? without_digest.substr(0, colon) : without_digest);
}

// An alias or a registry, completed by `rest`.
absl::StatusOr<Reference> Configured(absl::string_view configured, absl::string_view rest,
                                     absl::string_view short_name) {
  const std::string full = absl::StrCat(configured, rest);
  absl::StatusOr<Reference> reference = ParseReference(full);
  if (reference.ok() && !IsShortName(full)) return reference;
  return absl::FailedPreconditionError(absl::StrCat(
      "registries.conf leads from the short name \"", absl::CEscape(short_name), "\" to \"",
      absl::CEscape(full), "\"; that is no full image name, like registry.example/name"));
}

}  // namespace

absl::Status AddShortNames(absl::string_view text, absl::string_view file,
                           ShortNameConfig* config) {
  PLIMSOLL_ASSIGN_OR_RETURN(const toml::table document, ParseToml(text, file));
  ShortNameConfig added = *config;
  PLIMSOLL_RETURN_IF_ERROR(ReadSearch(document.get("unqualified-search-registries"), file,
                                      "unqualified-search-registries", &added));
  // Version 1 of the format.
  PLIMSOLL_RETURN_IF_ERROR(ReadSearch(document.at_path("registries.search.registries").node(), file,
                                      "registries.search.registries", &added));
  PLIMSOLL_RETURN_IF_ERROR(ReadMode(document.get("short-name-mode"), file, &added));
  PLIMSOLL_RETURN_IF_ERROR(ReadAliases(document.get("aliases"), file, &added));
  ReadRegistries(document.get("registry"), &added);
  *config = std::move(added);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Reference>> ShortNameCandidates(const ShortNameConfig& config,
                                                           absl::string_view text) {
  PLIMSOLL_ASSIGN_OR_RETURN(Reference dockers, ParseReference(text));
  const std::string name = NameOf(text);
  if (const auto alias = config.aliases.find(name); alias != config.aliases.end()) {
    PLIMSOLL_ASSIGN_OR_RETURN(Reference reference,
                              Configured(alias->second, text.substr(name.size()), text));
    return std::vector<Reference>{std::move(reference)};
  }
  if (config.search.empty()) return std::vector<Reference>{std::move(dockers)};
  if (config.search.size() > 1 && config.mode == "enforcing") {
    return absl::FailedPreconditionError(
        absl::StrCat("the short name \"", absl::CEscape(text), "\" may be in any of ",
                     absl::CEscape(absl::StrJoin(config.search, ", ")),
                     ", and short-name-mode in registries.conf is enforcing; give the full name"));
  }
  std::vector<Reference> candidates;
  for (const std::string& registry : config.search) {
    PLIMSOLL_ASSIGN_OR_RETURN(Reference reference,
                              Configured(registry, absl::StrCat("/", text), text));
    candidates.push_back(std::move(reference));
  }
  return candidates;
}

std::optional<RegistryEntry> FindRegistryEntry(const ShortNameConfig& config,
                                               const Reference& reference) {
  std::optional<RegistryEntry> best;
  for (const RegistryEntry& entry : config.registries) {
    if (!Applies(entry.prefix, reference.Canonical())) continue;
    if (!best || entry.prefix.size() >= best->prefix.size()) best = entry;
  }
  return best;
}

std::optional<RegistryEntry> ShortNames::EntryFor(const Reference& reference) const {
  absl::MutexLock lock(&mutex_);
  return FindRegistryEntry(config_, reference);
}

absl::Status ShortNames::Read() {
  ShortNameConfig config;
  const std::string main = file_.empty() ? kDefaultFile : file_;
  const absl::StatusOr<std::string> text = host_.Read(main, kMaxShortNamesBytes);
  if (text.ok()) {
    PLIMSOLL_RETURN_IF_ERROR(AddShortNames(*text, host_.PathOf(main), &config));
  } else if (!absl::IsNotFound(text.status()) || !file_.empty()) {
    return text.status();
  }
  absl::StatusOr<std::vector<std::string>> names = host_.List(kDirectory);
  if (absl::IsNotFound(names.status())) names.emplace();
  PLIMSOLL_RETURN_IF_ERROR(names.status());
  std::erase_if(*names, [](const std::string& name) { return !absl::EndsWith(name, ".conf"); });
  std::sort(names->begin(), names->end());
  if (names->size() > kMaxFiles) names->resize(kMaxFiles);
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(kDirectory, "/", name);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string added, host_.Read(path, kMaxShortNamesBytes));
    PLIMSOLL_RETURN_IF_ERROR(AddShortNames(added, host_.PathOf(path), &config));
  }
  absl::MutexLock lock(&mutex_);
  config_ = std::move(config);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Reference>> ShortNames::Resolve(absl::string_view text) const {
  if (IsShortName(text)) {
    absl::MutexLock lock(&mutex_);
    return ShortNameCandidates(config_, text);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(Reference reference, ParseReference(text));
  return std::vector<Reference>{std::move(reference)};
}

}  // namespace plimsoll::image
