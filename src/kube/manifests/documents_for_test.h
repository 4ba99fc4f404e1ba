// Manifests as a test reads them.
#ifndef PLIMSOLL_KUBE_MANIFESTS_DOCUMENTS_FOR_TEST_H_
#define PLIMSOLL_KUBE_MANIFESTS_DOCUMENTS_FOR_TEST_H_

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kube/manifests/manifests.h"
#include "yaml/documents.h"

namespace plimsoll::kube {

inline std::string Printed(const ManifestOptions& options) {
  const auto text = Manifests(options);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

// "<kind> <name>" -> the document.
inline std::map<std::string, YAML::Node> Documents(const std::string& text) {
  std::map<std::string, YAML::Node> documents;
  for (const YAML::Node& node : LoadYamlDocuments(text)) {
    const std::string name = absl::StrCat(node["kind"].as<std::string>(""), " ",
                                          node["metadata"]["name"].as<std::string>(""));
    EXPECT_TRUE(documents.emplace(name, node).second) << name << " is there twice";
  }
  return documents;
}

// Every value of the key "expression" or "messageExpression" below the node.
inline void Expressions(const YAML::Node& node, std::vector<std::string>* found) {
  if (node.IsSequence()) {
    for (const auto& item : node) Expressions(item, found);
  } else if (node.IsMap()) {
    for (const auto& item : node) {
      const std::string key = item.first.as<std::string>();
      const bool is_text = item.second.IsScalar();
      if (is_text && (key == "expression" || key == "messageExpression")) {
        found->push_back(item.second.as<std::string>());
      }
      Expressions(item.second, found);
    }
  }
}

inline ManifestOptions ExampleClasses() {
  ManifestOptions options;
  options.classes = {{qos::Level::kContainer, "rdt", "gold"},
                     {qos::Level::kContainer, "rdt", "bronze"},
                     {qos::Level::kContainer, "blockio", "background"},
                     {qos::Level::kContainer, "oom", "first"},
                     {qos::Level::kPod, "lane", "fast"}};
  return options;
}

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_MANIFESTS_DOCUMENTS_FOR_TEST_H_
