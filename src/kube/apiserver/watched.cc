#include "kube/apiserver/watched.h"

#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "kube/apiserver/api_path.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

// A watch that lasted so long was none that a server or a proxy turns away at once.
constexpr absl::Duration kLongWatch = absl::Seconds(10);
constexpr absl::Duration kListPatience = absl::Seconds(60);
// After so many failed watches in a row a list says what there is.
constexpr int kDoubtfulFailures = 3;

std::string TextOf(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

const Json& MetadataOf(const Json& object) {
  static const Json* const none = new Json(Json::object());
  const auto at = object.find("metadata");
  return object.is_object() && at != object.end() && at->is_object() ? *at : *none;
}

absl::StatusOr<std::string> KeyOf(const Json& object) {
  const std::string name = TextOf(MetadataOf(object), "name");
  if (name.empty()) return absl::UnavailableError("the server sent an object without a name");
  const std::string space = TextOf(MetadataOf(object), "namespace");
  return space.empty() ? name : absl::StrCat(space, "/", name);
}

// resourceVersions are numbers to compare (KEP-5504) unless the server makes them of something
// else: then none is known to be older.
bool IsOlder(const std::string& version, const std::string& than) {
  uint64_t left = 0;
  uint64_t right = 0;
  return absl::SimpleAtoi(version, &left) && absl::SimpleAtoi(than, &right) && left < right;
}

absl::Status TooMany(const WatchedOptions& options) {
  return absl::ResourceExhaustedError(
      absl::StrCat("GET ", options.path, ": more than ", options.most_objects, " objects"));
}

}  // namespace

Watched::Watched(ApiClient& client, WatchedOptions options)
    : client_(client), options_(std::move(options)), thread_([this] { Run(); }) {}

Watched::~Watched() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

bool Watched::listed() const {
  const absl::MutexLock lock(&mutex_);
  return listed_;
}

std::map<std::string, Json> Watched::Objects() const {
  const absl::MutexLock lock(&mutex_);
  return objects_;
}

size_t Watched::Count() const {
  const absl::MutexLock lock(&mutex_);
  return objects_.size();
}

std::optional<Json> Watched::Find(const std::string& key) const {
  const absl::MutexLock lock(&mutex_);
  const auto at = objects_.find(key);
  return at == objects_.end() ? std::nullopt : std::optional<Json>(at->second);
}

void Watched::Run() {
  RetryDelay delay(options_.retry);
  int failures = 0;
  while (true) {
    bool progress = false;
    const absl::Status status = Round(&progress);
    if (absl::IsCancelled(status)) return;
    Tell(status);
    failures = status.ok() || progress ? 0 : failures + 1;
    // A store that was set back to a backup knows no such version, and doesn't say so.
    if (failures >= kDoubtfulFailures) version_.clear();
    if (progress) delay.Reset();
    if (!Rest(progress && status.ok() ? absl::ZeroDuration() : delay.Next())) return;
  }
}

absl::Status Watched::Round(bool* progress) {
  if (version_.empty()) PLIMSOLL_RETURN_IF_ERROR(ListAnew());
  return WatchOn(progress);
}

void Watched::Tell(const absl::Status& status) {
  const bool is_news = failed_ || !status.ok();
  failed_ = !status.ok();
  if (is_news && options_.on_state) options_.on_state(status);
}

absl::StatusOr<std::map<std::string, Json>> Watched::ListAll(std::string* version) {
  std::map<std::string, Json> found;
  std::string token;
  do {
    const std::string path =
        PathWith({{"limit", absl::StrCat(options_.page)}, {"continue", token}});
    ApiRequest request;
    request.path = path;
    PLIMSOLL_ASSIGN_OR_RETURN(Json list, client_.Call(request, kListPatience));
    const auto items = list.find("items");
    *version = TextOf(MetadataOf(list), "resourceVersion");
    token = TextOf(MetadataOf(list), "continue");
    // Without an item, "items" may be null.
    const bool is_list = items != list.end() && (items->is_array() || items->is_null()) &&
                         absl::EndsWith(TextOf(list, "kind"), "List");
    if (!is_list || version->empty()) {
      return absl::UnavailableError(absl::StrCat("GET ", path, ": the server sent no list"));
    }
    if (items->empty() && !token.empty()) {
      return absl::UnavailableError(absl::StrCat("GET ", path, ": a list without end"));
    }
    for (Json& object : *items) {
      PLIMSOLL_ASSIGN_OR_RETURN(const std::string key, KeyOf(object));
      found[key] = std::move(object);
      if (found.size() > options_.most_objects) return TooMany(options_);
    }
  } while (!token.empty());
  return found;
}

absl::Status Watched::ListAnew() {
  std::string version;
  PLIMSOLL_ASSIGN_OR_RETURN(auto found, ListAll(&version));
  for (const auto& [key, object] : Objects()) {
    if (found.count(key) == 0) Change(key, Json());
  }
  for (auto& [key, object] : found) Change(key, std::move(object));
  version_ = std::move(version);
  {
    const absl::MutexLock lock(&mutex_);
    listed_ = true;
  }
  if (options_.on_listed) options_.on_listed();
  Tell(absl::OkStatus());
  return absl::OkStatus();
}

absl::Status Watched::WatchOn(bool* progress) {
  const SteadyTime is_long = SteadyAfter(kLongWatch);
  absl::Status fault;
  const absl::Status ended = client_.Watch(
      PathWith({{"watch", "true"}, {"allowWatchBookmarks", "true"}, {"resourceVersion", version_}}),
      [&](const WatchEvent& event) {
        fault = Take(event);
        if (fault.ok()) {
          *progress = true;
          Tell(fault);
        }
        const absl::MutexLock lock(&mutex_);
        return fault.ok() && !stopping_;
      });
  const absl::Status status = FirstError(fault, ended);
  *progress = *progress || SteadyNow() > is_long;
  // Only these two of the watch's own words say that its version is of no use.
  if (!fault.ok() || absl::IsOutOfRange(status) || absl::IsInvalidArgument(status)) {
    version_.clear();
  }
  return status;
}

absl::Status Watched::Take(const WatchEvent& event) {
  const std::string version = TextOf(MetadataOf(event.object), "resourceVersion");
  if (version.empty()) {
    return absl::UnavailableError("the server sent an event without a resourceVersion");
  }
  if (IsOlder(version, version_)) {
    return absl::UnavailableError(absl::StrCat("the server went back from resourceVersion ",
                                               version_, " to ", version, " in its watch of ",
                                               options_.path));
  }
  if (event.type != "BOOKMARK") {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string key, KeyOf(event.object));
    const bool is_gone = event.type == "DELETED";
    if (!is_gone && !Find(key).has_value() && Count() >= options_.most_objects) {
      return TooMany(options_);
    }
    Change(key, is_gone ? Json() : event.object);
  }
  version_ = version;
  return absl::OkStatus();
}

void Watched::Change(const std::string& key, Json object) {
  ObjectChange change{ObjectChange::Kind::kChanged, key, nullptr};
  Json told;
  {
    const absl::MutexLock lock(&mutex_);
    const auto at = objects_.find(key);
    if (at == objects_.end()) {
      if (object.is_null()) return;
      change.kind = ObjectChange::Kind::kAdded;
    } else if (object.is_null()) {
      change.kind = ObjectChange::Kind::kDeleted;
      told = std::move(at->second);
      objects_.erase(at);
    } else if (at->second == object) {
      return;
    }
    if (!object.is_null()) {
      told = object;
      objects_[key] = std::move(object);
    }
  }
  change.object = &told;
  if (options_.on_change) options_.on_change(change);
}

std::string Watched::PathWith(std::vector<std::pair<std::string, std::string>> parameters) const {
  std::string fields = options_.field_selector;
  if (!options_.name.empty()) {
    absl::StrAppend(&fields, fields.empty() ? "" : ",", "metadata.name=", options_.name);
  }
  parameters.emplace_back("fieldSelector", fields);
  parameters.emplace_back("labelSelector", options_.label_selector);
  return ApiPathWith(options_.path, parameters);
}

bool Watched::Rest(absl::Duration wait) {
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&stopping_), wait);
  return !stopping_;
}

}  // namespace plimsoll::kube
