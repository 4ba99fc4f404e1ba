#include "agent/pods/classes/class_lists.h"

#include <map>
#include <string>
#include <utility>

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

Json ClassList(const std::map<std::string, ClassTypeInfo>& types) {
  Json list = Json::array();
  for (const auto& [name, type] : types) {
    Json item = {{"name", name}, {"classes", Json::array()}, {"immutable", type.immutable}};
    for (const auto& [class_name, capacity] : type.capacities) {
      item["classes"].push_back(class_name);
      if (capacity != 0) item["capacity"][class_name] = capacity;
    }
    if (!type.default_class.empty()) item["default"] = type.default_class;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

void AddClassLists(const NodeClasses& classes, Json& node) {
  Json& status = node["status"];
  if (!classes.pod.empty()) status["podClassResources"] = ClassList(classes.pod);
  if (!classes.container.empty()) status["containerClassResources"] = ClassList(classes.container);
}

}  // namespace plimsoll::agent
