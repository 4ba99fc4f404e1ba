// For tests: the objects of an API server, and the history of their changes. For users of the fake
// client, fake_api_client_for_test.h, which says how it behaves.
#ifndef PLIMSOLL_KUBE_APISERVER_FAKE_STORE_FOR_TEST_H_
#define PLIMSOLL_KUBE_APISERVER_FAKE_STORE_FOR_TEST_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "kube/apiserver/api_client.h"
#include "kube/apiserver/fake_target_for_test.h"

namespace plimsoll::kube {

// Not thread-safe.
class FakeStore {
 public:
  using Json = nlohmann::json;
  struct Change {
    int64_t version = 0;
    std::string resource;
    std::string space;
    Json before;  // null: the object was made
    Json after;   // null: it was deleted
  };

  // The answer to any request but a watch.
  absl::StatusOr<Json> Answer(const ApiRequest& request) {
    const FakeTarget target = ReadFakeTarget(request.path);
    if (target.resource.empty()) return absl::NotFoundError("no such path");
    if (request.method == "GET") return target.name.empty() ? List(target) : Read(target);
    if (request.method == "POST") return Create(target, request.body);
    if (request.method == "DELETE") {
      return target.name.empty() ? DeleteAll(target) : Delete(target, request.body);
    }
    if (request.method == "PUT") return Replace(target, request.body);
    if (request.method == "PATCH") return Patch(target, request);
    return absl::InvalidArgumentError(absl::StrCat("method \"", request.method, "\""));
  }

  // Makes or replaces the object, whatever its version.
  void Put(const FakeTarget& target, Json object) {
    Json& metadata = object["metadata"];
    metadata["name"] = target.name;
    if (!target.space.empty()) metadata["namespace"] = target.space;
    const auto at = objects_.find(KeyOf(target));
    const Json before = at == objects_.end() ? Json() : at->second;
    if (!metadata.contains("uid")) {
      metadata["uid"] = before.is_null() ? absl::StrCat("uid-", version_ + 1)
                                         : before["metadata"]["uid"].get<std::string>();
    }
    Store(target, before, std::move(object));
  }

  absl::StatusOr<Json> Delete(const FakeTarget& target, const Json& options) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Json before, Read(target));
    const Json wanted = options.is_object() ? options.value("preconditions", Json()) : Json();
    for (const char* key : {"uid", "resourceVersion"}) {
      if (!wanted.is_object() || !wanted.contains(key)) continue;
      if (wanted[key] != before["metadata"][key]) return Conflict(target, key);
    }
    ++version_;
    history_.push_back({version_, target.resource, target.space, before, Json()});
    objects_.erase(KeyOf(target));
    return Json{{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}};
  }

  absl::StatusOr<Json> Read(const FakeTarget& target) const {
    const auto at = objects_.find(KeyOf(target));
    if (at == objects_.end()) {
      return absl::NotFoundError(absl::StrCat("\"", target.name, "\" not found"));
    }
    return at->second;
  }

  // Every object that the target names or selects.
  std::vector<Json> Select(const FakeTarget& target) const {
    std::vector<Json> found;
    for (const auto& [key, object] : objects_) {
      if (Has(target, key.resource, key.space) && FakeSelects(target, object)) {
        found.push_back(object);
      }
    }
    return found;
  }

  static bool Has(const FakeTarget& target, const std::string& resource, const std::string& space) {
    return target.resource == resource && (target.space.empty() || target.space == space);
  }

  int64_t version() const { return version_; }
  const std::vector<Change>& history() const { return history_; }
  int64_t compacted() const { return compacted_; }
  // Forgets the history: what is older than the present version is gone.
  void Compact() {
    history_.clear();
    compacted_ = version_;
  }

 private:
  struct Key {
    std::string resource;
    std::string space;
    std::string name;
    auto operator<=>(const Key&) const = default;
  };

  static Key KeyOf(const FakeTarget& target) {
    return {target.resource, target.space, target.name};
  }

  static absl::Status Conflict(const FakeTarget& target, absl::string_view why) {
    return absl::AbortedError(absl::StrCat("\"", target.name, "\": ", why, " is another by now"));
  }

  absl::StatusOr<Json> List(const FakeTarget& target) const {
    const std::vector<Json> found = Select(target);
    size_t limit = found.size();
    size_t from = 0;
    int64_t since = version_;
    if (target.has("limit") && !absl::SimpleAtoi(target.value("limit"), &limit)) {
      return absl::InvalidArgumentError("limit");
    }
    // A token is "FROM.VERSION".
    const std::pair<std::string, std::string> token =
        absl::StrSplit(target.value("continue"), absl::MaxSplits('.', 1));
    if (target.has("continue") &&
        (!absl::SimpleAtoi(token.first, &from) || !absl::SimpleAtoi(token.second, &since))) {
      return absl::InvalidArgumentError("continue key is not valid");
    }
    if (since < compacted_) return absl::OutOfRangeError("the continue token is too old");
    Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", Json::array()}};
    list["metadata"]["resourceVersion"] = absl::StrCat(since);
    size_t at = from;
    for (; at < found.size() && at - from < limit; ++at) list["items"].push_back(found[at]);
    if (at < found.size()) list["metadata"]["continue"] = absl::StrCat(at, ".", since);
    return list;
  }

  absl::StatusOr<Json> Create(const FakeTarget& target, Json object) {
    if (!target.name.empty() || !object.is_object()) {
      return absl::InvalidArgumentError("an object is posted to its collection");
    }
    FakeTarget made = target;
    Json& metadata = object["metadata"];
    made.name = metadata.value("name", "");
    if (made.name.empty() && metadata.contains("generateName")) {
      made.name = absl::StrCat(metadata["generateName"].get<std::string>(), version_ + 1);
    }
    if (made.name.empty()) return absl::InvalidArgumentError("metadata.name: Required value");
    if (metadata.contains("resourceVersion")) {
      return absl::InvalidArgumentError("resourceVersion should not be set on created objects");
    }
    if (metadata.value("namespace", made.space) != made.space) {
      return absl::InvalidArgumentError("the namespace of the object and of the path differ");
    }
    if (objects_.count(KeyOf(made)) > 0) {
      return absl::AlreadyExistsError(absl::StrCat("\"", made.name, "\" already exists"));
    }
    metadata.erase("uid");  // is the server's to choose
    metadata["generation"] = 1;
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z";
    Put(made, std::move(object));
    return objects_.at(KeyOf(made));
  }

  absl::StatusOr<Json> Replace(const FakeTarget& target, Json object) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Json before, Read(target));
    if (!object.is_object()) return absl::InvalidArgumentError("no object");
    Json& metadata = object["metadata"];
    if (metadata.value("name", "") != target.name) {
      return absl::InvalidArgumentError("the name of the object and of the path differ");
    }
    // Custom resources know no unconditional update.
    const bool is_custom = !target.group.empty() && target.group != "apps" &&
                           !absl::StrContains(target.resource, "/apis/resource.k8s.io/") &&
                           !absl::StrContains(target.resource, "/apis/coordination.k8s.io/") &&
                           !absl::StrContains(target.resource, "/apis/events.k8s.io/");
    if (is_custom && metadata.value("resourceVersion", "").empty()) {
      return absl::InvalidArgumentError("metadata.resourceVersion: must be specified");
    }
    return Update(target, before, std::move(object));
  }

  // Stores what a PUT or PATCH has made of the object.
  absl::StatusOr<Json> Update(const FakeTarget& target, const Json& before, Json object) {
    Json& metadata = object["metadata"];
    const Json& old = before["metadata"];
    for (const char* key : {"uid", "resourceVersion"}) {
      if (!metadata.contains(key) || metadata[key] == "") metadata[key] = old[key];
      if (metadata[key] != old[key]) return Conflict(target, key);
    }
    if (target.part == "status") {
      Json status = object.value("status", Json());
      Json kept = before;
      kept["metadata"]["labels"] = metadata.value("labels", Json());
      kept["metadata"]["annotations"] = metadata.value("annotations", Json());
      for (const char* key : {"labels", "annotations"}) {
        if (kept["metadata"][key].is_null()) kept["metadata"].erase(key);
      }
      if (!status.is_null()) kept["status"] = std::move(status);
      object = std::move(kept);
    } else if (HasStatusPart(target)) {
      object.erase("status");
      if (before.contains("status")) object["status"] = before["status"];
    }
    if (object == before) return object;  // nothing to write: the version stays
    if (object.value("spec", Json()) != before.value("spec", Json())) {
      object["metadata"]["generation"] = before["metadata"].value("generation", 1) + 1;
    }
    Store(target, before, std::move(object));
    return objects_.at(KeyOf(target));
  }

  static bool HasStatusPart(const FakeTarget& target) {
    for (const char* each : {"/nodes", "/pods", "/resourceclaims"}) {
      if (absl::EndsWith(target.resource, each)) return true;
    }
    return false;
  }

  absl::StatusOr<Json> Patch(const FakeTarget& target, const ApiRequest& request) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Json before, Read(target));
    Json object = before;
    if (request.content_type == "application/merge-patch+json") {
      object.merge_patch(request.body);
    } else if (request.content_type == "application/strategic-merge-patch+json") {
      MergeStrategic(object, request.body);
    } else if (request.content_type == "application/json-patch+json") {
      try {
        object = before.patch(request.body);
      } catch (const Json::exception& error) {
        return absl::InvalidArgumentError(error.what());
      }
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("content type \"", request.content_type, "\" (HTTP code 415)"));
    }
    return Update(target, before, std::move(object));
  }

  // A merge patch in which "conditions" and "addresses" are lists by "type".
  static void MergeStrategic(Json& object, const Json& patch) {
    if (!object.is_object()) object = Json::object();
    for (const auto& [key, value] : patch.items()) {
      if (value.is_null()) {
        object.erase(key);
      } else if (value.is_object()) {
        MergeStrategic(object[key], value);
      } else if (value.is_array() && (key == "conditions" || key == "addresses")) {
        MergeByType(object[key], value);
      } else {
        object[key] = value;
      }
    }
  }

  static void MergeByType(Json& list, const Json& patch) {
    if (!list.is_array()) list = Json::array();
    for (const Json& element : patch) {
      if (element.value("$patch", "") == "delete") {
        for (size_t at = list.size(); at-- > 0;) {
          if (list[at].value("type", "") == element.value("type", "")) list.erase(at);
        }
        continue;
      }
      bool found = false;
      for (Json& each : list) {
        if (each.value("type", "") != element.value("type", "")) continue;
        MergeStrategic(each, element);
        found = true;
      }
      if (!found) list.push_back(element);
    }
  }

  absl::StatusOr<Json> DeleteAll(const FakeTarget& target) {
    for (const Json& object : Select(target)) {
      FakeTarget one = target;
      one.name = object["metadata"]["name"];
      one.space = object["metadata"].value("namespace", "");
      PLIMSOLL_RETURN_IF_ERROR(Delete(one, Json()).status());
    }
    return Json{{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}};
  }

  void Store(const FakeTarget& target, const Json& before, Json object) {
    object["metadata"]["resourceVersion"] = absl::StrCat(++version_);
    history_.push_back({version_, target.resource, target.space, before, object});
    objects_[KeyOf(target)] = std::move(object);
  }

  int64_t version_ = 100;
  int64_t compacted_ = 100;
  std::map<Key, Json> objects_;
  std::vector<Change> history_;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_FAKE_STORE_FOR_TEST_H_
