// Reading an API server's objects, which may hold anything.
#ifndef PLIMSOLL_KUBE_APISERVER_JSON_FIELDS_H_
#define PLIMSOLL_KUBE_APISERVER_JSON_FIELDS_H_

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::kube {

// The member at the end of the path of keys; null where it is missing.
inline const nlohmann::json& FieldOf(const nlohmann::json& object,
                                     std::initializer_list<const char*> path) {
  static const nlohmann::json& kNull = *new nlohmann::json;
  const nlohmann::json* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return kNull;
    const auto found = at->find(key);
    if (found == at->end()) return kNull;
    at = &*found;
  }
  return *at;
}

// The list there; an empty one where it is missing or something else.
inline const nlohmann::json& ElementsOf(const nlohmann::json& object,
                                        std::initializer_list<const char*> path) {
  static const nlohmann::json& kNone = *new nlohmann::json(nlohmann::json::array());
  const nlohmann::json& found = FieldOf(object, path);
  return found.is_array() ? found : kNone;
}

// The text of the member; empty where it is missing or something else.
inline std::string TextOf(const nlohmann::json& object, std::initializer_list<const char*> path) {
  const nlohmann::json& found = FieldOf(object, path);
  return found.is_string() ? found.get<std::string>() : std::string();
}
inline std::string TextOf(const nlohmann::json& object, const char* key) {
  return TextOf(object, {key});
}

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_JSON_FIELDS_H_
